"""Gradients are clipped after the step that has used them.

## What happens
`clip_grad_norm_` changes `.grad`. After `optimizer.step()` nobody reads that any more: the next
`zero_grad` throws it away.

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
from surefit.laws.gradient_violations import ClippedAfterStep
from surefit.laws.runs import law_holds
from surefit.laws.step_calls import CLIPS, call_at
from surefit.remedies.change import Change
from surefit.source.line_edits import moved_after

RULE = Rule("SF666", "clipped-after-step", Severity.ERROR, __doc__)


@RULE.on(ClippedAfterStep)
def clipping_comes_too_late(broken: ClippedAfterStep, case: Case) -> Finding:
    clip = call_at(case, broken.use.place, *CLIPS)
    lines = broken.optimizer.stepped_at
    step = call_at(case, lines[0][0], "step") if lines else None
    edit = None
    if clip and step and clip.source is step.source:
        edit = moved_after(step.source, step.statement, clip.statement)
    words = "Clip the gradients between `backward` and `step`."
    return case.finding(
        broken.use.place,
        "Gradients are clipped after the optimizer's step, so that clipping has no effect: the step"
        " has used them as they were.",
        facts=broken.facts,
        why="A clip changes `.grad`; what a step has read before does not change any more.",
        remedies=(Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words),),
    )
