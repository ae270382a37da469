"""A temporal-difference target bootstraps past the end of an episode: `done` is not used.

## What happens
The target is `reward + gamma * value(next_state)`, and the flag that says that the episode has
ended is stored, sampled and never multiplied in. At a terminal state the target takes the value of
a state that does not follow: the next episode's first, or the same one again.

## Why it matters
The loss falls, and the values are wrong: ending an episode is credited with rewards that can no
longer come. The agent learns to collect a small reward that ends the episode.

## What to do
Multiply the bootstrapped value by `1 - done`. Do so for real ends only: where an episode was cut
off by a time limit (`truncated`), the value of the next state still belongs into the target.

## How it is recognised
A name for the end of an episode is unpacked together with the reward and the next state, nothing
reads it, and a target adds that reward to a discount times a value of that next state, with no
third factor.
"""

import re

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.influence import LossesChange
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.used_values import EpisodeEndUnread
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF436", "episode-end-not-masked", Severity.WARNING, __doc__)


@RULE.on(EpisodeEndUnread)
def the_target_goes_past_the_end(broken: EpisodeEndUnread, case: Case) -> Finding:
    must = All((law_holds(broken), LossesChange(name=broken.name, steps=broken.steps)))
    return case.finding(
        broken.use.place,
        f"The TD target bootstraps past the end of an episode: `{broken.name}` is never used, so"
        f" `{broken.discounted.text}` counts at terminal states, too.",
        facts=(*broken.facts, Fact("the target", f"`{broken.use.text}`")),
        why=f"After a terminal state no reward follows; its target is `{broken.reward.text}` alone."
        f" Multiply the value of the next state by `1 - {broken.name}`. A time limit is no end.",
        remedies=[
            ReplaceWith(
                at=broken.discounted,
                text=f"{broken.discounted.text} * (1 - {mask})",
                words=f"Mask the bootstrapped value at terminal states with `1 - {broken.name}`.",
                must=must,
            )
            for mask in masks(broken)
        ],
    )


def masks(broken: EpisodeEndUnread) -> list[str]:
    """The flag, treated as the target treats the reward, so that its shape is the same; a boolean
    cannot be subtracted."""
    text = re.sub(rf"\b{re.escape(broken.reward_name)}\b", broken.name, broken.reward.text)
    alike = text if text != broken.reward.text else broken.name
    return [alike] if alike.endswith(".float()") else [f"{alike}.float()", alike]
