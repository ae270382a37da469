"""Rows of zeros and ones reach cross entropy where it takes class indices.

## What happens
Cross entropy takes one class index per prediction. Labels with a column per class (indicator
columns of a table, `F.one_hot`, `LabelBinarizer`) are integers of another shape: flattened, they
are N × C targets for N predictions (`Expected input batch_size (8) to match target batch_size
(32)`); as they are, they are taken for class probabilities (`Expected floating point type for
target with class probabilities, got Long`).

## Why it matters
The message speaks of batch sizes, and no batch size is wrong. A `view` that makes the numbers agree
would train on zeros and ones as if they were classes 0 and 1.

## What to do
If exactly one class is set in each row, take its index: `argmax(-1)`. If a row can have several or
none, this is multi-label classification: float labels and `BCEWithLogitsLoss`, which a classifier
of transformers uses with `problem_type="multi_label_classification"`.

## How it is recognised
The targets of a cross entropy have as many entries per prediction as there are classes, all of
them zeros and ones. How many ones a row has was counted: `argmax` is proposed only where it is one
in every row.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import OF_CLASSES, TargetShape
from surefit.laws.label_values import LabelValues
from surefit.lineage.properties import size
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

DECIDES = "whether the targets have a column per class, and how many ones a row has"
SYMPTOMS = (
    Symptom(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)", DECIDES),
    Symptom("Expected floating point type for target with class probabilities", DECIDES),
    Symptom("multi-target not supported|only batches of spatial targets", DECIDES),
)
RULE = Rule("SF403", "one-hot-labels", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

FLATTENERS = ("view", "reshape", "flatten", "ravel")


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of classes lie in the labels."""

    axis: int
    """Of the classes, in a batch of labels before it was flattened."""
    shape: tuple[int, ...]
    """Of such a batch."""
    flat: bool


@RULE.on(TargetShape)
def labels_have_a_column_per_class(broken: TargetShape, case: Case) -> Finding | None:
    columns = columns_of(broken, case)
    labels = broken.labels
    if columns is None or labels is None or not labels.indicator or not labels.most_ones:
        return None
    target = broken.target
    places = along(case.lineage(target), of=size(-1, broken.classes))
    birth = places[0] if places else None
    rows, predictions = columns.shape[0], broken.predictions.shape[0]
    return case.finding(
        (birth or broken.use).place,
        headline(broken, columns, labels),
        facts=(
            broken.predictions.fact(counted(broken.classes, "class")),
            Fact(target.name, f"{target.dtype} {shape_of(columns.shape)}, zeros and ones"),
            Fact("rows with a single one", f"{labels.single:,} of {labels.rows:,}"),
            *stored(labels),
        ),
        ruled_out=(Fact("batch size", f"{rows} rows of labels, {predictions} of predictions"),),
        why=why(broken, labels),
        remedies=remedies(broken, columns, labels, places, case),
    )


def columns_of(broken: TargetShape, case: Case) -> Columns | None:
    shape, classes, expected = broken.target.shape, broken.classes, broken.expected
    predictions = broken.predictions.shape
    if broken.loss not in OF_CLASSES or len(predictions) < 2 or classes < 2:
        return None
    if shape == predictions and not broken.target.dtype.startswith(("float", "bfloat")):
        return Columns(1, shape, flat=False)
    if shape == (*expected, classes):
        return Columns(len(expected), shape, flat=False)
    if len(predictions) == 2 and shape == (predictions[0] * classes,):
        before = broken.before_flattening(case, classes)
        return Columns(len(before) - 1, before, flat=True) if before else None
    return None


def stored(labels: LabelValues) -> tuple[Fact, ...]:
    if not labels.stored:
        return ()
    return (Fact("in the whole dataset", f"{labels.stored_single:,} of {labels.stored:,}"),)


def headline(broken: TargetShape, columns: Columns, labels: LabelValues) -> str:
    if labels.one_hot:
        return (
            f"{broken.target.name} is one-hot, {shape_of(columns.shape)}; {broken.called} takes one"
            f" class index per prediction, {shape_of(broken.expected)}."
        )
    ones = f"{labels.fewest_ones} to {labels.most_ones} ones"
    return (
        f"{broken.target.name} is multi-label, {ones} in a row of {broken.classes};"
        f" {broken.called} takes one class index per prediction."
    )


def why(broken: TargetShape, labels: LabelValues) -> str:
    if labels.one_hot:
        return "The class of a row is the index of its one; as it stands, each zero is a target."
    said = "With several ones or none in a row there is no single class to choose."
    model = " transformers takes integer labels for single-label classification."
    return said + (model if broken.inside else "")


def remedies(
    broken: TargetShape,
    columns: Columns,
    labels: LabelValues,
    places: Sequence[Written],
    case: Case,
) -> list[Remedy | Fix]:
    if not labels.one_hot:
        setting = 'Set `problem_type="multi_label_classification"` in the configuration'
        loss = setting if broken.inside else "Use `nn.BCEWithLogitsLoss`"
        return [Fix(f"{loss} and give float labels: `.float()`.", choice=True)]
    must = broken.converted(broken.expected, labels.rows, labels.places)
    last = columns.axis == len(columns.shape) - 1
    suffix = f".argmax({-1 if last else columns.axis})"
    found: list[Remedy | Fix] = []
    candidates: list[Written | None] = list(places)
    for at in candidates:
        indices = indices_of(at, case)
        if indices:
            words = f"Give the class indices as they are, {code(indices)}, without `one_hot`."
            found.append(ReplaceWith(at=at, text=indices, words=words, must=must))
    candidates.append(before_flattening(broken, case) if columns.flat else broken.target.use)
    for at in candidates:
        words = f"Give class indices: {code((at.text if at else '') + suffix)}."
        found.append(Append(at=at, suffix=suffix, words=words, must=must))
    return found


def before_flattening(broken: TargetShape, case: Case) -> Written | None:
    """`labels` of `labels.view(-1)`."""
    node, source = case.node(broken.target.use), case.source(broken.use.place)
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in FLATTENERS and source:
            return case.expression(source, inner)
    return None


def indices_of(birth: Written | None, case: Case) -> str:
    """The class indices of `F.one_hot(indices, classes)`."""
    node, source = case.node(birth), case.source(birth.place) if birth else None
    if source is None or not isinstance(node, ast.Call):
        return ""
    if not source.imported(node.func).endswith(".one_hot"):
        return ""
    indices = source.argument(node, "tensor", 0)
    return source.segment(indices) if indices is not None else ""
