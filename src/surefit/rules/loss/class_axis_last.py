"""Predictions have their classes in the last axis, and cross entropy reads them from the second.

## What happens
A tagger or a language model returns [B, T, C]: C logits for each of T positions. Cross entropy
takes the classes in the second axis, [B, C, T], and reads T as the number of classes: `Expected
target size [8, 5], got [8, 30]`.

## Why it matters
Where T and C happen to be equal nothing is raised, and the model is trained on scores of positions.

## What to do
`logits.transpose(1, 2)`, or flatten both: `logits.flatten(0, 1)` with `labels.flatten()`.

## How it is recognised
Cross entropy was given targets with the shape of the predictions without their last axis (or with
the batch in the second axis), and every label is below the size of the last axis.
"""

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case
from surefit.laws.contracts.losses import INDICES, OF_CLASSES, TargetShape
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"Expected target size \[\d+, \d+\], got \[\d+, \d+\]",
    "whether the targets are shaped as the predictions without their last axis",
)
RULE = Rule("SF406", "class-axis-last", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(TargetShape)
def classes_are_in_the_last_axis(broken: TargetShape, case: Case) -> Finding | None:
    turned = classes_second(broken)
    if turned is None or broken.labels is None or not broken.labels.are_classes(turned[1][1]):
        return None
    method, shape = turned
    predictions, target, labels = broken.predictions, broken.target, broken.labels
    return case.finding(
        broken.use.place,
        f"{predictions.name} is {predictions.shape_words} with its {counted(shape[1], 'class')} in"
        f" the last axis; {broken.called} takes them in the second, which has {broken.classes}.",
        facts=(
            target.fact(labels.words and f"{labels.words}, all below {shape[1]}"),
            Fact("taken for", f"{broken.classes} classes, targets {shape_of(broken.expected)}"),
        ),
        why="Cross entropy takes (batch, classes, positions), whatever the model calls its axes.",
        remedies=(
            Append(
                at=predictions.use,
                suffix=method,
                words=f"Put the classes second: {code(predictions.name[1:-1] + method)}.",
                must=broken.holds(target.shape, shape),
            ),
        ),
    )


def classes_second(broken: TargetShape) -> tuple[str, tuple[int, ...]] | None:
    """What puts the classes in the second axis, and the shape after it."""
    shape, target = broken.predictions.shape, broken.target.shape
    if broken.loss not in OF_CLASSES or len(shape) < 3 or broken.target.dtype not in INDICES:
        return None
    if target == shape[:-1]:
        method = ".transpose(1, 2)" if len(shape) == 3 else ".movedim(-1, 1)"
        return method, (shape[0], shape[-1], *shape[1:-1])
    if len(shape) == 3 and target == (shape[1], shape[0]):
        return ".permute(1, 2, 0)", (shape[1], shape[2], shape[0])
    return None
