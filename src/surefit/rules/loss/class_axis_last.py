"""Predictions have their classes in the last axis, and cross entropy reads them from the second.

## What happens
A tagger or a language model gives [B, T, C]: a row of C logits for each of T positions. Cross
entropy wants the classes in the second axis, [B, C, T], and takes T for the number of classes:
`Expected target size [8, 5], got [8, 30]`.

## Why it matters
Where T and C happen to be equal nothing is raised, and the model is trained on scores of positions.

## What to do
`logits.transpose(1, 2)`, or flatten both: `logits.flatten(0, 1)` with `labels.flatten()`.

## How it is recognised
The loss that failed is a cross entropy; its targets have the shape of the predictions without their
last axis (or with the batch in the second place); and every label is below the size of the last
axis.

In a script that is only read: sizes are followed through the file, from the lines that make tensors
through layers and `forward`s. The predictions are the output of a layer and have three axes, the
targets two.
"""

from collections.abc import Iterator

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
from surefit.evidence.label_values import LabelValues, label_values
from surefit.interpreter import violations, wording

RULE = Rule(
    "SF406",
    "class-axis-last",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected target size \[\d+, \d+\], got \[\d+, \d+\]",
            "whether the targets are shaped as the predictions without their last axis",
        ),
    ),
)


@RULE.on(Crash)
def classes_are_in_the_last_axis(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    moved = mended(loss) if loss else None
    labels = label_values(seen, crash, loss) if loss and moved else None
    if loss is None or moved is None or labels is None:
        return
    text, shape = moved
    classes = shape[1]
    if not labels.whole or not labels.all_known or labels.outside(classes):
        return
    given, target = given_name(crash, loss), target_name(crash, loss)
    yield RULE.finding(
        loss.own.place,
        f"{given} is {shape_of(loss.given.shape or ())} with its {counted(classes, 'class')} in the"
        f" last axis: {loss_name(loss)} looks for them in the second, which has {loss.classes}.",
        facts=(
            Fact(target, f"{shape_of(loss.target.shape or ())}, {in_range(labels, classes)}"),
            Fact("taken for", f"{loss.classes} classes, targets {shape_of(loss.wanted or ())}"),
        ),
        why="Cross entropy takes (batch, classes, positions), whatever the model calls its axes.",
        fixes=(fix(crash, loss, text, shape, labels, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def mended(loss: FailedLoss) -> tuple[str, tuple[int, ...]] | None:
    """What puts the classes in the second axis, and the shape that it gives."""
    given, target = loss.given.shape, loss.target.shape
    if loss.name not in OF_CLASSES or not given or not target or len(given) < 3:
        return None
    if target == loss.wanted or len(target) != len(given) - 1:
        return None
    if loss.target.dtype not in INDICES:
        return None
    if target == given[:-1]:
        turn = ".transpose(1, 2)" if len(given) == 3 else ".movedim(-1, 1)"
        return turn, (given[0], given[-1], *given[1:-1])
    if len(given) == 3 and target == (given[1], given[0]):
        return ".permute(1, 2, 0)", (given[1], given[2], given[0])
    return None


def in_range(labels: LabelValues, classes: int) -> str:
    return f"from {labels.values[0]:g} to {labels.values[-1]:g}, all below {classes}"


def fix(
    crash: Crash,
    loss: FailedLoss,
    text: str,
    shape: tuple[int, ...],
    labels: LabelValues,
    seen: Recording,
) -> Fix:
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        loss.target.shape or (),
        INDICES,
        labels.elements,
        labels.total,
        shape,
    )
    said = f"Put the classes in the second axis: {code(text)} behind {given_name(crash, loss)}."
    node = loss.given_node
    edit = at_every_call(loss, node, text) if node is not None else None
    if edit is None:
        return Fix(said, why_not_tried="the call of the loss was not found in your source")
    return Fix(said, edit, must(crash, seen, gets))


@RULE.on(Script)
def classes_would_be_in_the_last_axis(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "classes last":
            continue
        inputs = broken.inputs
        predictions = wording.text_of(source, inputs.predictions_node)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{predictions} has its classes in the last of three axes, and `{inputs.name}` looks"
            " for them in the second.",
            facts=wording.loss_facts(source, inputs),
            why="Cross entropy takes the second axis for the classes, whatever comes behind it.",
            fixes=(wording.appended_fix(source, inputs.predictions_node, ".transpose(1, 2)"),),
            severity=Severity.WARNING,
        )
