"""A learning rate schedule that is planned in steps is stepped once per epoch.

## What happens
`OneCycleLR(total_steps=...)`, `T_max=epochs * len(loader)` and `num_training_steps` count optimizer
steps. Stepped once per epoch, such a schedule takes a handful of its steps and never gets further.

## Why it matters
A warm-up hardly begins, so that the rate stays tiny; a decay hardly begins, so that it stays high.
The run uses one part of the plan and looks plausible.

## What to do
Call `scheduler.step()` after each `optimizer.step()`.

## How it is recognised
The run came to its end; the length of the plan is about the number of optimizer steps of the run,
and the scheduler was stepped at most once per epoch, a quarter as often or less.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import ScheduleTooSlow
from surefit.laws.training.step_calls import (
    LoopCall,
    after_statement,
    call_at,
    calls_named,
    same_function,
)
from surefit.remedies.change import Change

RULE = Rule("SF672", "scheduler-stepped-per-epoch", Severity.ERROR, __doc__)


@RULE.on(ScheduleTooSlow)
def steps_are_counted_in_epochs(broken: ScheduleTooSlow, case: Case) -> Finding:
    schedule, (name, length), course = broken.schedule, broken.length, broken.course
    return case.finding(
        broken.use.place,
        f"The scheduler is stepped once per epoch, {schedule.calls:,} times, and is planned for"
        f" {length:,} steps (`{name}`): the learning rate is {course.last:.2g} when the run ends,"
        " and most of the schedule never happens.",
        facts=(*broken.facts, Fact(schedule.kind, f"created at {schedule.made_at}")),
        why=f"`{schedule.kind}` counts calls of its `step`, whatever they stand for; the run has"
        f" {course.steps:,} optimizer steps.",
        remedies=(per_step(broken, case),),
    )


def per_step(broken: ScheduleTooSlow, case: Case) -> Remedy | Fix:
    words = "Step the scheduler after each step of the optimizer."
    call = call_at(case, broken.use.place, "step")
    step = optimizer_step(call) if call else None
    edit = after_statement(call, step) if call and step else None
    return Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words)


def optimizer_step(call: LoopCall) -> LoopCall | None:
    """The only other `step` before the scheduler's."""
    others = [
        known
        for known in calls_named(call.source, "step")
        if known.owner != call.owner and known.is_alone and same_function(known, call)
    ]
    return others[0] if len(others) == 1 else None
