"""How far a patched run must come, and how long that takes, going by the first run."""

import math
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Finding
from surefit.doctor.observations import Ended
from surefit.doctor.progress import final_steps, steps_before, steps_taken
from surefit.doctor.recording import Recording
from surefit.proof.snapshot import CannotTry

PAST_THE_FAULT = 2
"""Optimizer steps: the first one may still use what was computed before it."""
USUAL_STEPS = 50
FEWEST_STEPS = 5


@dataclass(frozen=True, slots=True)
class Goal:
    """Steps that a patched run is to take, after which it is ended."""

    steps: int
    fault: int = 0
    """Steps before the fault."""
    ended_the_run: bool = False
    """The fault did: whatever the first run had counted came before it."""
    seconds: float = 0.0
    """That the first run took to come as far, for every run that is to be made."""
    silent: bool = False
    """The fault raises nothing, so that a run without the fix must be seen to have it."""


def goal_of(finding: Finding, must: Condition, first: Recording, left: float) -> Goal:
    """`left`: seconds; where the number of steps is free, it is such that they are enough."""
    crash = first.crash(finding.about)
    wanted = must.needs(first).steps
    if crash is not None:
        fault = steps_before(crash, first)
        steps = max(fault + PAST_THE_FAULT, wanted or 0)
        seconds = time_until(steps, first) if crash.swallowed else whole_time(first)
        return Goal(steps, fault, not crash.swallowed, seconds)
    steps = wanted or min(steps_taken(first) or USUAL_STEPS, USUAL_STEPS)
    while wanted is None and steps > FEWEST_STEPS and time_until(steps, first) > left / 4:
        steps = max(FEWEST_STEPS, steps // 2)
    return Goal(steps, silent=True, seconds=2 * time_until(steps, first))


def whole_run(first: Recording) -> Goal:
    """Where a fault does not show earlier."""
    return Goal(steps_taken(first), silent=True, seconds=2 * whole_time(first))


def whole_time(first: Recording) -> float:
    return max((ended.seconds for ended in first.all(Ended)), default=0.0)


def time_until(steps: int, first: Recording) -> float:
    """Everything but the steps takes as long as it did."""
    whole, taken = whole_time(first), steps_taken(first)
    if not taken or steps >= taken:
        return whole
    training = max(one.seconds for one in final_steps(first))
    return max(0.0, whole - training) + training * steps / taken


def refuse_too_long(goal: Goal, left: float, given: float) -> None:
    """A try takes about as long as the first run did; half as much again is reserved for it."""
    if goal.seconds <= left:
        return
    enough = math.ceil((given - left + goal.seconds * 1.5) / 10) * 10
    if goal.silent:
        what = f"{goal.steps:,} steps, without the fix and with it, take {goal.seconds:,.0f} s"
    elif goal.ended_the_run:
        what = f"the fault came after {goal.seconds:,.0f} s"
    else:
        what = f"{goal.steps:,} steps came after {goal.seconds:,.0f} s"
    raise CannotTry(
        f"{what}, and {max(left, 0):,.0f} s are left of the {given:,.0f} s for proofs;"
        f" `--proof-seconds {enough}` would do"
    )
