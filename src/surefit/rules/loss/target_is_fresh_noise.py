"""The target of a denoising loss is fresh noise, not the noise that was added.

## What happens
A diffusion model is given data with noise added and must predict this noise. The loss compares its
prediction with another draw, `torch.randn_like(x)`, that the model's input does not depend on.

## Why it matters
Nothing is raised. There is nothing to learn: the best prediction is the mean, zero, so that the
loss stays at the variance of the noise, about 1, and samples are shapeless.

## What to do
Draw the noise once, add it to the data, and use the same tensor as the target.

## How it is recognised
The target of the loss is a random draw that nothing else reads, and another draw by the same
function went, mixed with data, into what the model was given.
"""

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.influence import LossesChange
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.own_targets import FreshNoiseTarget
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF443", "target-is-fresh-noise", Severity.ERROR, __doc__)


@RULE.on(FreshNoiseTarget)
def the_noise_is_not_the_one_added(broken: FreshNoiseTarget, case: Case) -> Finding:
    noise = broken.noise
    return case.finding(
        broken.target.place,
        f"The target of the loss is fresh noise, `{broken.use.text}`, not `{noise}`, the noise that"
        " was added to the model's input.",
        facts=broken.facts,
        why="A new random draw is independent of what the model sees: the best prediction is its"
        f" mean, and the loss stays at its variance. The target must be `{noise}`.",
        remedies=(
            ReplaceWith(
                at=broken.target,
                text=noise,
                words=f"Use `{noise}`, the noise that was added, as the target.",
                must=All((law_holds(broken), LossesChange(name=noise, steps=broken.steps))),
            ),
        ),
    )
