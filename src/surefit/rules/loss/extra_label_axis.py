"""Class labels have an extra axis of size 1.

## What happens
Cross entropy takes one class index per prediction, [N]. Labels made as a column, [N, 1], are taken
for several targets per row: `0D or 1D target tensor expected, multi-target not supported`; for
pictures `only batches of spatial targets supported`.

## Why it matters
A `view` or `flatten` somewhere on the way hides it until the shapes of another batch meet.

## What to do
Make the label of a row a single number, or remove the axis where it was added: `.squeeze(1)`.

## How it is recognised
The targets of a cross entropy have the expected shape and one axis of size 1 more, there are as
many of them as predictions, and every one is a class that the predictions have.
"""

import ast
from math import prod

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import INDICES, OF_CLASSES, TargetShape
from surefit.lineage.producers import Producer
from surefit.lineage.properties import axes
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

DECIDES = "whether the targets have the expected shape but for one axis of size 1"
SYMPTOMS = (
    Symptom("multi-target not supported", DECIDES),
    Symptom("only batches of spatial targets supported", DECIDES),
)
RULE = Rule("SF402", "extra-label-axis", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(TargetShape)
def labels_have_an_axis_too_many(broken: TargetShape, case: Case) -> Finding | None:
    axis = extra_axis(broken)
    if axis is None or broken.labels is None or not broken.labels_are_classes:
        return None
    target = broken.target
    places = along(case.lineage(target), of=axes(len(target.shape)))
    birth = places[0] if places else None
    labels = counted(broken.labels.elements, "label")
    predictions = counted(prod(broken.expected), "prediction")
    return case.finding(
        (birth or broken.use).place,
        f"{target.name} is {target.shape_words}, with an extra axis of size 1; {broken.called}"
        f" takes one class index per prediction, {shape_of(broken.expected)}.",
        facts=(
            broken.predictions.fact(counted(broken.classes, "class")),
            target.fact(broken.labels.words),
            *fact_at("used at", broken.use if birth else None),
        ),
        ruled_out=(Fact("several targets", f"{labels} for {predictions}"),),
        why="There is one target for each prediction, and cross entropy takes a second axis for a"
        " second target.",
        remedies=(
            *(removed_at_birth(at, case, broken) for at in places),
            *(squeeze(at, axis_in(at, axis, broken), broken) for at in places),
            squeeze(target.use, axis, broken),
        ),
    )


def extra_axis(broken: TargetShape) -> int | None:
    """The axis of size 1 without which the targets have the expected shape. In a batch of one row
    the batch axis looks the same, and a later one is meant."""
    shape, expected = broken.target.shape, broken.expected
    if broken.loss not in OF_CLASSES or broken.classes < 2 or len(shape) != len(expected) + 1:
        return None
    found = [
        axis
        for axis, size in enumerate(shape)
        if size == 1 and (*shape[:axis], *shape[axis + 1 :]) == expected
    ]
    return next((axis for axis in found if axis), found[0]) if found else None


def axis_in(at: Producer, axis: int, broken: TargetShape) -> int:
    """A row has no batch axis."""
    is_row = len(at.value.shape or ()) == len(broken.target.shape) - 1
    return max(axis - 1, 0) if is_row else axis


def cast(broken: TargetShape) -> str:
    return "" if broken.target.dtype in INDICES else ".long()"


def squeeze(at: Written | None, axis: int, broken: TargetShape) -> Remedy:
    suffix = f".squeeze({axis}){cast(broken)}"
    return Append(
        at=at,
        suffix=suffix,
        words=f"Remove the axis: {code((at.text if at else '') + suffix)}.",
        must=broken.holds(broken.expected),
    )


def removed_at_birth(birth: Producer | None, case: Case, broken: TargetShape) -> Remedy | None:
    """`y.view(-1, 1)` and `[label]`: the expression itself says what there was before."""
    node, source = case.node(birth), case.source(birth.place) if birth else None
    inner: ast.expr | None = None
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="unsqueeze")):
            inner = value
        case ast.Call(func=ast.Attribute(value=value, attr="view" | "reshape"), args=[_, last]):
            inner = value if ast.unparse(last) == "1" else None
        case ast.List(elts=[value]) if not isinstance(value, ast.Starred):
            inner = value
    if inner is None or source is None:
        return None
    text = source.segment(inner) + cast(broken)
    words = f"Leave out the axis: {code(text)} instead of {code(birth.text if birth else '')}."
    return ReplaceWith(at=birth, text=text, words=words, must=broken.holds(broken.expected))
