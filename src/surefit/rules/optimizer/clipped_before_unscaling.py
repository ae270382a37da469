"""Gradients are clipped while a gradient scaler has them multiplied by its factor.

## What happens
`scaler.scale(loss).backward()` gives gradients that are, say, 65,536 times too large; `scaler.step`
divides them again. A clip in between compares the large ones with a bound that was meant for the
real ones, and clips every time.

## Why it matters
After unscaling nothing larger than the bound divided by the factor is left. The loss is almost
flat at a learning rate that should be ample, and no message says why.

## What to do
Call `scaler.unscale_(optimizer)` before clipping; `scaler.step` then leaves out its own division.

## How it is recognised
At nearly every clip with a finite bound, gradients were scaled by a factor above 1 and had not been
unscaled since the backward pass. A bound that is of the size of the factor, as where it was
multiplied with it, is not reported.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import ClippedWhileScaled
from surefit.laws.training.step_calls import CLIPS, LoopCall, call_at, calls_named, same_function
from surefit.remedies.statements import Insert

RULE = Rule("SF665", "clipped-before-unscaling", Severity.ERROR, __doc__)


@RULE.on(ClippedWhileScaled)
def scaled_gradients_are_clipped(broken: ClippedWhileScaled, case: Case) -> Finding:
    clip, call = broken.clip, call_at(case, broken.use.place, *CLIPS)
    return case.finding(
        broken.use.place,
        f"Gradients are clipped to {clip.bound:g} before they are unscaled: the gradient scaler has"
        f" them multiplied by {clip.scale:,.0f}, so that at most {clip.bound / clip.scale:.2g} of"
        " them is left.",
        facts=broken.facts,
        why="The bound is compared with gradients that are as many times too large as the scale"
        " says; dividing them again makes what is left tiny.",
        remedies=(remedy(broken, case, call),),
    )


def remedy(broken: ClippedWhileScaled, case: Case, clip: LoopCall | None) -> Remedy | Fix:
    step = scaled_step(clip) if clip else None
    if clip is None or step is None:
        return Fix("Unscale the gradients before they are clipped: `scaler.unscale_(optimizer)`.")
    text = f"{step.owner}.unscale_({step.first_argument})"
    return Insert(
        at=clip.expression(case),
        where="before",
        text=text,
        words=f"Unscale the gradients before they are clipped: `{text}`.",
        must=law_holds(broken),
    )


def scaled_step(clip: LoopCall) -> LoopCall | None:
    """`scaler.step(optimizer)` after the clip, in the same function."""
    for step in calls_named(clip.source, "step"):
        later = step.statement.lineno > clip.statement.lineno
        if later and step.first_argument and step.owner and same_function(step, clip):
            return step
    return None
