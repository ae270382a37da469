"""Predictions and labels are of the same positions, and only one of the two was flattened.

## What happens
For a loss over every position of a sequence both are flattened: logits [B, T, C] to [B·T, C],
labels [B, T] to [B·T]. Where one is left as it was, cross entropy sees another number of rows:
`Expected input batch_size (8) to match target batch_size (240)`, or `multi-target not supported`.

## Why it matters
The message speaks of batch sizes, and none is wrong.

## What to do
Flatten both, or none: `logits.flatten(0, 1)` with `labels.flatten()`.

## How it is recognised
The loss that failed is a cross entropy; one side has the axes that the other side's first axis is
the product of; and every label is a class that the predictions have.

In a script that is only read: sizes are followed through the file, from the lines that make tensors
through layers and `forward`s. Of the two sides one was flattened, and the other has an axis more
than goes with it.
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
from surefit.doctor.words import code, shape_of, times
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
from surefit.evidence.label_values import LabelValues, label_values
from surefit.interpreter import violations, wording

DECIDES = "whether one side has as many positions in several axes as the other has in one"
RULE = Rule(
    "SF409",
    "flattened-on-one-side",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)", DECIDES),
        Symptom("multi-target not supported", DECIDES),
    ),
)


@dataclass(frozen=True, slots=True)
class Unflattened:
    """The side that still has its axes."""

    predictions: bool
    axes: tuple[int, ...]
    text: str
    node: ast.expr | None
    name: str
    other: str
    shape: tuple[int, ...]
    """Of the predictions, once both are flat."""


@RULE.on(Crash)
def only_one_side_is_flat(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    left = unflattened(crash, loss) if loss else None
    labels = label_values(seen, crash, loss) if loss and left else None
    if loss is None or left is None or labels is None:
        return
    if not labels.whole or not labels.all_known or labels.outside(left.shape[1]):
        return
    flat, rows = prod(left.axes), "rows" if left.predictions else "labels"
    yield RULE.finding(
        loss.own.place,
        f"{left.other} was flattened to {flat} and {left.name} was not: {loss_name(loss)} finds"
        f" {left.axes[0]} {rows} where {times(left.axes)} = {flat} are meant.",
        facts=(
            Fact(given_name(crash, loss), shape_of(loss.given.shape or ())),
            Fact(
                target_name(crash, loss), f"{loss.target.dtype} {shape_of(loss.target.shape or ())}"
            ),
        ),
        ruled_out=(Fact("batch size", f"both are of the same {left.axes[0]} rows"),),
        why="Cross entropy pairs the first axis of both; all positions must lie in it, or none.",
        fixes=(fix(crash, loss, left, labels, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def unflattened(crash: Crash, loss: FailedLoss) -> Unflattened | None:
    given, target = loss.given.shape, loss.target.shape
    if loss.name not in OF_CLASSES or not given or not target or loss.target.dtype not in INDICES:
        return None
    names = given_name(crash, loss), target_name(crash, loss)
    if len(given) > 2 and target == (prod(given[:-1]),) and min(given[:-1]) > 1:
        if not same_axes(loss.target.base_shape, given[:-1]):
            return None
        text = f".flatten(0, {len(given) - 2})"
        shape = (*target, given[-1])
        return Unflattened(True, given[:-1], text, loss.given_node, *names, shape)
    if len(given) == 2 and len(target) > 1 and prod(target) == given[0] and min(target) > 1:
        if not same_axes((loss.given.base_shape or ())[:-1], target):
            return None
        return Unflattened(False, target, ".flatten()", loss.target_node, names[1], names[0], given)
    return None


def same_axes(base: tuple[int, ...] | None, axes: tuple[int, ...]) -> bool:
    """The flat side had its axes in the same order, as far as that can be seen: with time and batch
    the other way round positions would be mixed up."""
    return not base or len(base) != len(axes) or base == axes


def fix(
    crash: Crash, loss: FailedLoss, left: Unflattened, labels: LabelValues, seen: Recording
) -> Fix:
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        (prod(left.axes),),
        INDICES,
        labels.elements,
        labels.total,
        left.shape,
    )
    said = f"Flatten both sides alike: {code(left.text)} behind {left.name}."
    edit = at_every_call(loss, left.node, left.text) if left.node is not None else None
    if edit is None:
        return Fix(said, why_not_tried="the call of the loss was not found in your source")
    return Fix(said, edit, must(crash, seen, gets))


@RULE.on(Script)
def one_side_would_be_flattened(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "flattened":
            continue
        inputs = broken.inputs
        predictions, target = (wording.text_of(source, node) for node in inputs.nodes)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{target if inputs.target.flattened else predictions} is flattened and"
            f" {predictions if inputs.target.flattened else target} is not: `{inputs.name}` takes"
            " both alike.",
            facts=wording.loss_facts(source, inputs),
            why="Cross entropy takes one row of scores for each target.",
            fixes=(
                wording.appended_fix(source, inputs.predictions_node, ".flatten(0, 1)")
                if inputs.target.flattened
                else wording.appended_fix(source, inputs.target_node, ".flatten()"),
            ),
            severity=Severity.WARNING,
        )
