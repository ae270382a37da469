"""A learning rate schedule that is planned in epochs is stepped after every batch.

## What happens
A scheduler counts calls of its `step`. Lengths and factors that were chosen for epochs
(`gamma=0.9`, `step_size=10`, `T_max=epochs`) run out within the first epoch when it is stepped for
each batch.

## Why it matters
The learning rate is practically zero for most of the run: the loss improves for a moment and then
stands still to the decimals. It looks as if the model had converged.

## What to do
Call `scheduler.step()` at the end of an epoch, or choose the lengths in steps:
`T_max=epochs * len(loader)`.

## How it is recognised
At half of all steps or more the rate was below a thousandth of its highest value. Or the plan of
the scheduler ends with the epochs of the run (`milestones`, `T_max`), and it was stepped at least
four times as often. Schedules that end at zero by plan are below a thousandth for few steps.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.law import BrokenLaw
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import RateVanishes, ScheduleTooFast
from surefit.laws.training.step_calls import after_the_batches, call_at
from surefit.remedies.change import Change

RULE = Rule("SF671", "scheduler-stepped-per-batch", Severity.ERROR, __doc__)


@RULE.on(RateVanishes)
def the_rate_is_gone_early(broken: RateVanishes, case: Case) -> Finding | None:
    course, schedule = broken.course, broken.schedule
    if schedule is None or schedule.calls < 0.9 * course.steps or broken.epochs < 2:
        return None
    low = f"{course.last:.1e}, from {course.highest:g}"
    return case.finding(
        broken.use.place,
        f"The scheduler is stepped after every batch, {schedule.calls:,} times in"
        f" {counted(broken.epochs, 'epoch')}: the learning rate falls to practically zero ({low}),"
        f" and is there from step {course.low_from:,} of {course.steps:,} on.",
        facts=(*broken.facts, Fact(schedule.kind, f"created at {schedule.made_at}")),
        why=f"`{schedule.kind}` changes the rate at each call. A decay that is meant for an epoch"
        " is over within a few batches.",
        remedies=(per_epoch(broken, case),),
    )


@RULE.on(ScheduleTooFast)
def epochs_are_counted_in_batches(broken: ScheduleTooFast, case: Case) -> Finding:
    schedule, (name, length) = broken.schedule, broken.length
    return case.finding(
        broken.use.place,
        f"The scheduler is stepped after every batch, {schedule.calls:,} times in"
        f" {counted(broken.epochs, 'epoch')}, and `{name}` of {length:,} is in epochs: the schedule"
        f" is over after {length:,} of {broken.course.steps:,} steps.",
        facts=(*broken.facts, Fact(schedule.kind, f"created at {schedule.made_at}")),
        why=f"`{schedule.kind}` counts calls of its `step`, whatever they stand for.",
        remedies=(per_epoch(broken, case),),
    )


def per_epoch(broken: BrokenLaw, case: Case) -> Remedy | Fix:
    words = "Step the scheduler once per epoch, after its last batch."
    call = call_at(case, broken.use.place, "step")
    moved = after_the_batches(call) if call else None
    return Change(to=moved[1], words=words, must=law_holds(broken)) if moved else Fix(words)
