"""A policy gradient scores a newly drawn action, not the one that was rewarded.

## What happens
`dist.log_prob(dist.sample())` draws a second time. The reward, the return or the advantage beside
it is that of the first action, which the environment was given.

## Why it matters
The two draws are independent of each other, so that the expected gradient is zero: losses look like
those of a policy that learns, and the policy stays at random.

## What to do
Draw once, keep the action, and score that one: `dist.log_prob(action)`. With a buffer, score the
stored action under the current policy.

## How it is recognised
`log_prob` is given a draw that nothing else reads, and what it gives is multiplied by something
that depends on another draw, or that came together with an action that nothing reads. An entropy
that is estimated from draws of its own has no such factor.
"""

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.influence import LossesChange
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.taken_actions import OtherDrawScored
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF447", "log-probability-of-another-draw", Severity.ERROR, __doc__)


@RULE.on(OtherDrawScored)
def another_action_was_rewarded(broken: OtherDrawScored, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        f"`log_prob` scores a freshly drawn action, `{broken.use.text}`, instead of"
        f" `{broken.taken}`, the action that was rewarded.",
        facts=broken.facts,
        why="A new draw is independent of the reward: the expected gradient is zero, and the policy"
        " does not learn.",
        remedies=(
            ReplaceWith(
                at=broken.use,
                text=broken.taken,
                words=f"Score the action that was taken: `{broken.taken}`.",
                must=All((law_holds(broken), LossesChange(name=broken.taken, steps=broken.steps))),
            ),
        ),
    )
