"""Predictions and labels are of the same positions, and only one of the two was flattened.

## What happens
For a loss over every position of a sequence both are flattened: logits [B, T, C] to [B·T, C],
labels [B, T] to [B·T]. Where one keeps its axes, cross entropy sees another number of rows:
`Expected input batch_size (8) to match target batch_size (240)`, or `multi-target not supported`.

## Why it matters
The message speaks of batch sizes, and none is wrong.

## What to do
Flatten both, or neither: `logits.flatten(0, 1)` with `labels.flatten()`.

## How it is recognised
One side of a cross entropy has the axes that the first axis of the other side is the product of,
and every label is a class that the predictions have.
"""

from dataclasses import dataclass
from math import prod

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand
from surefit.doctor.words import code, times
from surefit.laws.case import Case
from surefit.laws.contracts.losses import INDICES, OF_CLASSES, TargetShape
from surefit.remedies.append import Append

DECIDES = "whether one side has as many positions in several axes as the other has in one"
SYMPTOMS = (
    Symptom(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)", DECIDES),
    Symptom("multi-target not supported", DECIDES),
)
RULE = Rule("SF409", "flattened-on-one-side", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@dataclass(frozen=True, slots=True)
class Unflattened:
    """The side that still has its axes."""

    side: Operand
    other: Operand
    axes: tuple[int, ...]
    method: str
    shape: tuple[int, ...]
    """Of the predictions, once both are flat."""


@RULE.on(TargetShape)
def only_one_side_is_flat(broken: TargetShape, case: Case) -> Finding | None:
    left = unflattened(broken)
    if left is None or broken.labels is None or not broken.labels.are_classes(left.shape[1]):
        return None
    flat = prod(left.axes)
    counted = "rows" if left.side is broken.predictions else "labels"
    return case.finding(
        broken.use.place,
        f"{left.other.name} was flattened to {flat} and {left.side.name} was not:"
        f" {broken.called} sees {left.axes[0]} {counted} instead of {times(left.axes)} = {flat}.",
        facts=(broken.predictions.fact(), broken.target.fact()),
        ruled_out=(Fact("batch size", f"both are of the same {left.axes[0]} rows"),),
        why="Cross entropy pairs the first axis of both; all positions must be in it, or none.",
        remedies=(
            Append(
                at=left.side.use,
                suffix=left.method,
                words=f"Flatten both sides alike: {code(left.side.name[1:-1] + left.method)}.",
                must=broken.holds((flat,), left.shape),
            ),
        ),
    )


def unflattened(broken: TargetShape) -> Unflattened | None:
    predictions, target = broken.predictions, broken.target
    shape, labels = predictions.shape, target.shape
    if broken.loss not in OF_CLASSES or target.dtype not in INDICES:
        return None
    if len(shape) > 2 and labels == (prod(shape[:-1]),) and min(shape[:-1]) > 1:
        if not same_axes(target.value.base_shape, shape[:-1]):
            return None
        method = f".flatten(0, {len(shape) - 2})"
        return Unflattened(predictions, target, shape[:-1], method, (*labels, shape[-1]))
    if len(shape) == 2 and len(labels) > 1 and prod(labels) == shape[0] and min(labels) > 1:
        if not same_axes((predictions.value.base_shape or ())[:-1], labels):
            return None
        return Unflattened(target, predictions, labels, ".flatten()", shape)
    return None


def same_axes(base: tuple[int, ...] | None, axes: tuple[int, ...]) -> bool:
    """The flat side had its axes in the same order, as far as that can be seen: with time and batch
    swapped, positions would be mixed up."""
    return not base or len(base) != len(axes) or base == axes
