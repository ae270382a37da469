"""Rows of zeros and ones reach cross entropy where it wants class indices.

## What happens
Cross entropy takes one class index per prediction. Labels with a column per class (indicator
columns of a table, `F.one_hot`, `LabelBinarizer`) are whole numbers of another shape: flattened,
they are N × C targets for N predictions (`Expected input batch_size (8) to match target batch_size
(32)`); as they are, they are taken for class probabilities (`Expected floating point type for
target with class probabilities, got Long`).

## Why it matters
The message speaks of batch sizes, and no batch size is wrong: nothing that changes it helps. And a
`view` that makes the numbers agree would train on zeros and ones as if they were classes 0 and 1.

## What to do
If exactly one class is set in each row, take its index: `argmax(-1)`. If a row can have several or
none, this is multi-label classification: float labels and `BCEWithLogitsLoss`, which a classifier
of transformers uses with `problem_type="multi_label_classification"`.

## How it is recognised
The loss that failed is a cross entropy; its targets have as many entries per prediction as there
are classes, and all of them are zeros and ones. How many ones a row has was counted: `argmax` is
proposed only where it is one in every row.

In a script that is only read: the targets come from `F.one_hot` and are still whole numbers where
they reach the loss.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.failed_losses import (
    INDICES,
    OF_CLASSES,
    FailedLoss,
    failed_loss,
    given_name,
    inside,
    loss_name,
    own_name,
    target_name,
)
from surefit.evidence.label_fixes import at_every_call, must
from surefit.evidence.label_sources import Step, label_steps, made_in
from surefit.evidence.label_values import LabelValues, label_values
from surefit.interpreter import violations, wording
from surefit.source.edits import Edit, appended, replaced
from surefit.source.reading import called

DECIDES = "whether each row of labels has a column per class, with a single one in it"
RULE = Rule(
    "SF403",
    "one-hot-labels",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)", DECIDES),
        Symptom("Expected floating point type for target with class probabilities", DECIDES),
        Symptom("multi-target not supported|only batches of spatial targets", DECIDES),
    ),
)

FLATTENERS = ("view", "reshape", "flatten", "ravel")
WHICH = "whether a row has one class or several, only you know"


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of classes lie in the labels."""

    axis: int
    """Of the classes, in a batch of labels before it was flattened."""
    shape: tuple[int, ...]
    """Of such a batch."""
    flat: bool
    wanted: tuple[int, ...]


@RULE.on(Crash)
def labels_have_a_column_per_class(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    columns = columns_of(crash, loss) if loss else None
    if loss is None or columns is None:
        return
    more = {"rows": loss.classes} if columns.flat else {"axis": columns.axis}
    labels = label_values(seen, crash, loss, **more)
    if labels is None or not labels.indicator or not labels.most_ones:
        return
    made = made_in(crash, loss, seen, columns.shape)
    yield RULE.finding(
        made.place if made else loss.own.place,
        headline(crash, loss, columns, labels),
        facts=tuple(facts(crash, loss, columns, made, labels)),
        ruled_out=(not_the_batch(columns, loss),),
        why=why(crash, loss, labels),
        fixes=tuple(fixes(crash, loss, columns, made, labels, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def columns_of(crash: Crash, loss: FailedLoss) -> Columns | None:
    shape, given, classes = loss.target.shape, loss.given.shape, loss.classes or 0
    if loss.name not in OF_CLASSES or not shape or not given or len(given) < 2 or classes < 2:
        return None
    wanted = loss.wanted or ()
    if shape == given and not (loss.target.dtype or "").startswith(("float", "bfloat")):
        return Columns(1, shape, False, wanted)
    if shape == (*wanted, classes):
        return Columns(len(wanted), shape, False, wanted)
    if len(given) == 2 and shape == (given[0] * classes,):
        before = before_flattening(crash, loss)
        return Columns(len(before) - 1, before, True, wanted) if before else None
    return None


def before_flattening(crash: Crash, loss: FailedLoss) -> tuple[int, ...] | None:
    """The shape that labels had which lie flat now: by a value that somebody still has, or by the
    tensor that they are a view of."""
    size = prod(loss.target.shape or ())
    values = (one for frame in reversed(crash.frames[: loss.frame]) for one in frame.values)
    shapes = [one.shape for one in values if one.shape and one.dtype == loss.target.dtype]
    for shape in (*shapes, loss.target.base_shape or ()):
        if len(shape) > 1 and shape[-1] == loss.classes and prod(shape) == size:
            return shape
    return None


def headline(crash: Crash, loss: FailedLoss, columns: Columns, labels: LabelValues) -> str:
    name = label_name(crash, loss, columns)
    if labels.one_hot:
        return (
            f"{name} is one-hot, {shape_of(columns.shape)}: {who(crash, loss)} wants one class"
            f" index per prediction, {shape_of(columns.wanted)}."
        )
    ones = f"{labels.fewest_ones} to {labels.most_ones} ones"
    return (
        f"{name} is multi-label, {ones} in a row of {loss.classes}, and {who(crash, loss)} wants"
        " one class index per prediction."
    )


def label_name(crash: Crash, loss: FailedLoss, columns: Columns) -> str:
    """Of the labels before a flattening; the model or the call that flattens has another object."""
    if not columns.flat:
        return target_name(crash, loss)
    for frame in reversed(crash.frames[: loss.frame]):
        for value in frame.values:
            if value.shape == columns.shape and value.dtype == loss.target.dtype:
                return f"`{own_name(crash, value) or value.text}`"
    return target_name(crash, loss)


def who(crash: Crash, loss: FailedLoss) -> str:
    model = next(inside(crash, loss), None)
    return f"cross entropy in `{model}`" if model else loss_name(loss)


def facts(
    crash: Crash, loss: FailedLoss, columns: Columns, made: Step | None, labels: LabelValues
) -> Iterator[Fact]:
    classes = counted(loss.classes or 0, "class")
    yield Fact(given_name(crash, loss), f"{shape_of(loss.given.shape or ())}, {classes}")
    name = label_name(crash, loss, columns)
    yield Fact(name, f"{loss.target.dtype} {shape_of(columns.shape)}, zeros and ones")
    yield Fact("rows with a single one", f"{labels.single:,} of {labels.rows:,}")
    if labels.stored:
        stored = f"{labels.stored_single:,} of {labels.stored:,}"
        yield Fact("in the whole dataset", stored)
    if columns.flat:
        size = (loss.target.shape or (0,))[0]
        yield Fact("flattened", f"{labels.rows:,} × {loss.classes} = {counted(size, 'target')}")
    if made is not None:
        yield Fact("made at", f"{made.place}  {made.text}")


def not_the_batch(columns: Columns, loss: FailedLoss) -> Fact:
    rows, predictions = columns.shape[0], (loss.given.shape or (0,))[0]
    if columns.flat and len(columns.shape) > 2:
        return Fact("batch size", "labels and predictions are of the same rows")
    return Fact("batch size", f"{rows} rows of labels, {predictions} of predictions")


def why(crash: Crash, loss: FailedLoss, labels: LabelValues) -> str:
    if labels.one_hot:
        return (
            "The class of a row is the place of its one; as it stands, each zero is a target, too."
        )
    said = "With several ones or none in a row there is no single class to choose."
    if next(inside(crash, loss), None):
        said += " transformers takes whole-number labels for single-label classification."
    return said


def fixes(
    crash: Crash,
    loss: FailedLoss,
    columns: Columns,
    made: Step | None,
    labels: LabelValues,
    seen: Recording,
) -> Iterator[Fix]:
    model = next(inside(crash, loss), None)
    if not labels.one_hot:
        loss_to_use = (
            'Set `problem_type="multi_label_classification"` in the configuration'
            if model
            else "Use `nn.BCEWithLogitsLoss`"
        )
        yield Fix(f"{loss_to_use} and give float labels: `.float()`.", why_not_tried=WHICH)
        yield Fix("If each row should have one class, mend the labels.", why_not_tried=WHICH)
        return
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        columns.wanted,
        INDICES,
        labels.rows,
        labels.places,
        converted=True,
    )
    edit, text = change(crash, loss, columns, made, seen)
    if edit is None:
        why_not = "where the labels are made was not found in your source"
        yield Fix(f"Give class indices: {code(text)} of the labels.", why_not_tried=why_not)
        return
    said = f"Give class indices: {code(text)} of the one-hot labels."
    if not text.startswith(".argmax"):
        said = f"Give the class indices as they are, {code(text)}, without `one_hot` or `argmax`."
    yield Fix(said, edit, must(crash, seen, gets))


def made_one_hot(made: Step) -> ast.expr | None:
    """The class indices of `F.one_hot(indices, classes)`."""
    node = made.node
    if isinstance(node, ast.Call) and made.source.imported(node.func).endswith(".one_hot"):
        return made.source.argument(node, "tensor", 0)
    return None


def change(
    crash: Crash, loss: FailedLoss, columns: Columns, made: Step | None, seen: Recording
) -> tuple[Edit | None, str]:
    inner = made_one_hot(made) if made is not None else None
    if made is not None and inner is not None:
        text = " ".join(made.source.segment(inner).split())
        return replaced(made.source, made.node, made.source.segment(inner)), text
    if made is not None:
        last = columns.axis == len(columns.shape) - 1
        axis = columns.axis - 1 if made.of == "row" else columns.axis
        text = f".argmax({-1 if last else axis})"
        return appended(made.source, made.node, text), text
    text = f".argmax({-1 if columns.axis == len(columns.shape) - 1 else columns.axis})"
    node = loss.target_node
    if node is not None and columns.flat:
        match node:
            case ast.Call(func=ast.Attribute(value=inner)) if called(node) in FLATTENERS:
                return appended(loss.source, inner, text) if loss.source else None, text
        return None, text
    if node is not None:
        return at_every_call(loss, node, text), text
    batch = [one for one in label_steps(crash, loss, seen) if one.of == "batch"]
    return (appended(batch[0].source, batch[0].node, text), text) if batch else (None, text)


@RULE.on(Script)
def labels_would_be_one_hot(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "one hot":
            continue
        inputs = broken.inputs
        target = wording.text_of(source, inputs.target_node)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{target} is one-hot: `{inputs.name}` takes one class index per prediction.",
            facts=wording.loss_facts(source, inputs),
            why="Integers in the shape of the predictions are neither indices nor probabilities.",
            fixes=(wording.appended_fix(source, inputs.target_node, ".argmax(-1)"),),
            severity=Severity.WARNING,
        )
