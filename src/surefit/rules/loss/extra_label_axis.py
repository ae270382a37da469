"""Class labels reach cross entropy with an axis too many: [N, 1] in place of [N].

## What happens
Cross entropy over logits [N, C] wants one class index per row, [N]; over maps [N, C, H, W] it wants
[N, H, W]. A column of a table, a mask with a channel axis, or `unsqueeze` for another loss leaves
an axis of size 1, and torch says `0D or 1D target tensor expected, multi-target not supported` or
`only batches of spatial targets supported (3D tensors)`. There is only one target, with an axis too
many.

## Why it matters
Other lines do not fail: `(logits.argmax(1) == labels)` with labels of [N, 1] compares every row
with every other one, [N, N], and an accuracy made from it is wrong without a word.

## What to do
Take the axis away where the labels are made: `.squeeze(-1)`, or `.squeeze(1)` for a mask with a
channel. Never `.squeeze()` alone: it also takes the batch axis of a last batch of one row.

## How it is recognised
The loss that failed is a cross entropy; its targets have exactly the shape that it wants, but for
one axis of size 1; and every label is a class that the predictions have. Where the labels are made
is followed back through the source, or told by a second run.

In a script that is only read: sizes are followed through the file, from the lines that make tensors
to the loss. The targets have a second axis of size 1.
"""

import ast
from collections.abc import Iterator
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
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import at_every_call, must
from surefit.evidence.label_sources import Step, is_tensor, label_steps, made_in
from surefit.evidence.label_values import LabelValues, label_values, values_in_words
from surefit.interpreter import violations, wording
from surefit.source.edits import Edit, appended, replaced
from surefit.source.reading import Source, called

DECIDES = "whether the targets have the wanted shape but for one axis of size 1"
RULE = Rule(
    "SF402",
    "extra-label-axis",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom("multi-target not supported", DECIDES),
        Symptom("only batches of spatial targets supported", DECIDES),
    ),
)

MAKES_AN_AXIS = ("unsqueeze", "view", "reshape")


@RULE.on(Crash)
def labels_have_an_axis_too_many(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    axis = extra_axis(loss) if loss else None
    labels = label_values(seen, crash, loss) if loss and axis is not None else None
    if loss is None or axis is None or labels is None or not are_classes(loss, labels):
        return
    made = made_in_loop(crash, loss, seen) or made_in(crash, loss, seen)
    if made is not None and made.of != "batch" and must_cast(loss) and not is_tensor(made):
        made = None
    yield RULE.finding(
        made.place if made else loss.own.place,
        headline(crash, loss),
        facts=tuple(facts(crash, loss, made, labels)),
        ruled_out=tuple(not_several(loss, labels)),
        why="There is one target for each prediction, with an axis of size 1 beside it, and cross"
        " entropy takes a second axis for a second target.",
        fixes=(fix(crash, loss, axis, made, labels, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def extra_axis(loss: FailedLoss) -> int | None:
    """The axis of size 1 without which the targets have the shape that is wanted."""
    shape, wanted = loss.target.shape, loss.wanted
    if loss.name not in OF_CLASSES or not shape or wanted is None or (loss.classes or 0) < 2:
        return None
    if len(shape) != len(wanted) + 1:
        return None
    found = [
        axis
        for axis, size in enumerate(shape)
        if size == 1 and (*shape[:axis], *shape[axis + 1 :]) == wanted
    ]
    # In a batch of one row the batch axis looks the same, and a later one is meant.
    return next((axis for axis in found if axis), found[0]) if found else None


def are_classes(loss: FailedLoss, labels: LabelValues) -> bool:
    return labels.whole and labels.all_known and not labels.outside(loss.classes or 0)


def must_cast(loss: FailedLoss) -> bool:
    return loss.target.dtype not in INDICES


def made_in_loop(crash: Crash, loss: FailedLoss, seen: Recording) -> Step | None:
    """A step of the user's in the loop itself that makes the axis: `y.view(-1, 1)`."""
    batch = [one for one in label_steps(crash, loss, seen) if one.of == "batch"]
    return batch[-1] if batch and axis_taken_back(batch[-1]) is not None else None


def axis_taken_back(step: Step) -> ast.expr | None:
    """What an axis was put on by the very expression; None where it does not say so."""
    match step.node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args, keywords=[]):
            numbers = [step.source.segment(one) for one in args]
            if name == "unsqueeze" and len(numbers) == 1 and numbers[0] in ("1", "-1"):
                return inner
            if name in ("view", "reshape") and numbers == ["-1", "1"]:
                return inner
    return None


def headline(crash: Crash, loss: FailedLoss) -> str:
    target, shape = target_name(crash, loss), shape_of(loss.target.shape or ())
    return (
        f"{target} is {shape}, with an extra axis of size 1: {loss_name(loss)} wants one class"
        f" index per prediction, {shape_of(loss.wanted or ())}."
    )


def facts(crash: Crash, loss: FailedLoss, made: Step | None, labels: LabelValues) -> Iterator[Fact]:
    predictions = shape_of(loss.given.shape or ())
    yield Fact(given_name(crash, loss), f"{predictions}, {counted(loss.classes or 0, 'class')}")
    held = f", {values_in_words(labels)}"
    yield Fact(
        target_name(crash, loss), f"{loss.target.dtype} {shape_of(loss.target.shape or ())}{held}"
    )
    if made is not None:
        yield Fact("made at", f"{made.place}  {made.text}")
        yield Fact("used at", str(loss.own.place))


def not_several(loss: FailedLoss, labels: LabelValues) -> Iterator[Fact]:
    """As many labels as predictions, ignored ones not counted."""
    places = counted(prod(loss.wanted or ()), "prediction")
    yield Fact("several targets", f"there are {counted(labels.elements, 'label')} for {places}")


def fix(
    crash: Crash,
    loss: FailedLoss,
    axis: int,
    made: Step | None,
    labels: LabelValues,
    seen: Recording,
) -> Fix:
    cast = ".long()" if must_cast(loss) else ""
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        loss.wanted or (),
        INDICES,
        labels.elements,
        labels.total,
    )
    edit, text = change(loss, axis, made, cast)
    if edit is None:
        return Fix(text, why_not_tried="the expression to change was not found in your source")
    return Fix(text, edit, must(crash, seen, gets))


def change(loss: FailedLoss, axis: int, made: Step | None, cast: str) -> tuple[Edit | None, str]:
    """The edit, and what it does in words; at the loss itself where nothing else is certain."""
    if made is not None and made.of == "batch":
        inner = axis_taken_back(made)
        if inner is not None:
            whole = made.source.segment(inner) + cast
            said = f"Leave out `{called_on(made)}`: this loss wants no such axis."
            return replaced(made.source, made.node, whole), said
    if made is not None:
        text = squeezed(made, axis) + cast
        plain = without_list(made.source, made.node) if made.of == "row" and not cast else None
        if plain is not None:
            said = f"Make the label of a row a single number, {code(plain[1])}, not a list of one."
            return plain[0], said
        said = (
            f"Take the axis away where the labels are made: {code(text)} behind {code(made.text)}."
        )
        return appended(made.source, made.node, text), said
    text = f".squeeze({axis}){cast}"
    node = loss.target_node
    edit = at_every_call(loss, node, text) if node is not None else None
    return edit, f"Take the axis away before the loss: {code(text)} behind the labels."


def called_on(step: Step) -> str:
    """`.view(-1, 1)`."""
    inner = axis_taken_back(step)
    before = len(" ".join(step.source.segment(inner).split())) if inner is not None else 0
    return step.text[before:]


def squeezed(made: Step, axis: int) -> str:
    """A row has no batch axis yet."""
    return f".squeeze({axis - 1 if made.of == 'row' and axis else axis})"


def without_list(source: Source, node: ast.expr) -> tuple[Edit, str] | None:
    """`torch.tensor(label)` for `torch.tensor([label])`."""
    if not isinstance(node, ast.Call) or called(node) not in ("tensor", "as_tensor"):
        return None
    match node.args:
        case [ast.List(elts=[ast.expr() as inner]) as given] if not isinstance(inner, ast.Starred):
            whole, old, new = map(source.segment, (node, given, inner))
            return replaced(source, given, new), whole.replace(old, new, 1)
    return None


@RULE.on(Script)
def labels_would_have_an_axis_more(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "column":
            continue
        inputs = broken.inputs
        target = wording.text_of(source, inputs.target_node)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{target} is {inputs.target.shape}, with an extra axis of size 1: `{inputs.name}`"
            " takes one class index per prediction.",
            facts=wording.loss_facts(source, inputs),
            why="Cross entropy takes targets with as many axes as predictions for probabilities.",
            fixes=(wording.appended_fix(source, inputs.target_node, ".squeeze(-1)"),),
            severity=Severity.WARNING,
        )
