"""Gradients are clipped after the step that has used them, or before `backward` computes them.

## What happens
`clip_grad_norm_` changes `.grad`. After `optimizer.step()` nobody reads that any more: the next
`zero_grad` throws it away. Before `backward` there is nothing to clip yet.

## Why it matters
The script says that gradients are clipped, and every step uses them as they came. One bad batch
throws the weights far away.

## What to do
Clip between `backward` and `step`; with a gradient scaler, after `scaler.unscale_(optimizer)`.

## How it is recognised
Nearly every clip with a finite bound comes when no backward pass has run since the last step, and
none comes between `backward` and `step`. A bound that is infinite or very large only measures the
norm.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import ClippedAfterStep
from surefit.laws.training.step_calls import CLIPS, LoopCall, call_at, calls_named
from surefit.remedies.change import Change
from surefit.source.line_edits import block_of, moved_after

RULE = Rule("SF666", "clipped-after-step", Severity.ERROR, __doc__)


@RULE.on(ClippedAfterStep)
def clipping_comes_at_the_wrong_time(broken: ClippedAfterStep, case: Case) -> Finding:
    clip = call_at(case, broken.use.place, *CLIPS)
    lines = broken.optimizer.stepped_at
    step = call_at(case, lines[0][0], "step") if lines else None
    backward = backward_after(clip, step) if clip and step else None
    return case.finding(
        broken.use.place,
        headline(backward is not None),
        facts=broken.facts,
        why="A clip changes `.grad` as it is at that moment: it does nothing to gradients that are"
        " computed later, or that a step has read before.",
        remedies=(moved(broken, clip, step, backward),),
    )


def headline(early: bool) -> str:
    if early:
        return (
            "Gradients are clipped before `backward` computes them, so that clipping has no effect:"
            " every step uses them as they come."
        )
    return (
        "Gradients are clipped after the optimizer's step, so that clipping has no effect: the step"
        " has used them as they were."
    )


def backward_after(clip: LoopCall, step: LoopCall) -> LoopCall | None:
    """The `backward` between a clip and the step that follows it, in one block."""
    block = block_of(clip.source, clip.statement)
    if step.statement not in block:
        return None
    between = block[block.index(clip.statement) + 1 : block.index(step.statement)]
    calls = calls_named(clip.source, "backward")
    return next((call for call in calls if call.statement in between), None)


def moved(
    broken: ClippedAfterStep,
    clip: LoopCall | None,
    step: LoopCall | None,
    backward: LoopCall | None,
) -> Change | Fix:
    words = "Clip the gradients between `backward` and `step`."
    edit = None
    if clip and backward:
        edit = moved_after(clip.source, clip.statement, backward.statement)
    elif clip and step and clip.source is step.source:
        edit = moved_after(step.source, step.statement, clip.statement)
    return Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words)
