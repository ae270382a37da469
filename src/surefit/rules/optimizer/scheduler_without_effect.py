"""A learning rate scheduler has no effect on the optimizer that trains.

## What happens
A scheduler changes the rate of the optimizer that it was created with, when its `step` is called.
Where nobody calls it, or where another optimizer has taken the place of that one, the rate stays
as it is.

## Why it matters
The plan for the learning rate is there to read and is not followed. A schedule that begins with a
warm-up leaves the rate at its first, tiny value.

## What to do
Call `scheduler.step()`, and create the scheduler after the optimizer that takes the steps.

## How it is recognised
The scheduler's `step` was never called in a run that came to its end, and the source has no such
call for its name. Or its optimizer took no step, and the only one that did is another; or took none
any more, once a later one was created that no scheduler is for.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.creation_order import both_in_one_block
from surefit.laws.training.made_names import name_at
from surefit.laws.training.rate_violations import (
    SchedulerNeverStepped,
    SchedulerOfAnotherOptimizer,
)
from surefit.laws.training.step_calls import calls_named, optimizer_of
from surefit.remedies.change import Change
from surefit.remedies.statements import Insert
from surefit.source.line_edits import inserted_after, moved_after, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule("SF675", "scheduler-without-effect", Severity.ERROR, __doc__)


@RULE.on(SchedulerNeverStepped)
def the_scheduler_is_never_stepped(broken: SchedulerNeverStepped, case: Case) -> Finding:
    schedule, course = broken.schedule, broken.course
    name = name_at(case.source(schedule.made_at), schedule.made_at) or "scheduler"
    return case.finding(
        broken.use.place,
        f"`{name}.step()` is never called: the learning rate stays at {course.last:g} for all"
        f" {course.steps:,} steps.",
        facts=broken.facts,
        why="A scheduler changes the rate only when its `step` is called.",
        remedies=(stepped(broken, case, name),),
    )


def stepped(broken: SchedulerNeverStepped, case: Case, name: str) -> Remedy | Fix:
    """After the optimizer's step: whether it counts steps or epochs is the user's to say."""
    source = case.source(broken.schedule.made_at)
    own = name_at(source, broken.course.made_at)
    calls = [
        call
        for call in (calls_named(source, "step") if source else ())
        if call.is_alone and optimizer_of(call) == own
    ]
    words = f"Call `{name}.step()`: after each `optimizer.step()` if its lengths are in steps, at"
    words = f"{words} the end of an epoch if they are in epochs."
    if len(calls) != 1:
        return Fix(words, choice=True)
    return Insert(
        at=calls[0].expression(case),
        where="after",
        text=f"{name}.step()",
        words=words,
        must=law_holds(broken),
        choice=True,
    )


@RULE.on(SchedulerOfAnotherOptimizer)
def it_belongs_to_another_optimizer(broken: SchedulerOfAnotherOptimizer, case: Case) -> Finding:
    schedule, stepping = broken.schedule, broken.stepping
    source = case.source(schedule.made_at)
    name = name_at(source, schedule.made_at) or schedule.kind
    optimizer = name_at(case.source(stepping.made_at), stepping.made_at) or stepping.kind
    pair = None
    if source and schedule.made_at and stepping.made_at:
        pair = both_in_one_block(source, schedule.made_at, stepping.made_at)
    replaced = bool(schedule.optimizer_steps)
    if replaced:
        words = f"Create `{name}` again for the new optimizer, with the plan that is left."
        edit = created_again(source, broken) if source is not None else None
    else:
        words = f"Create `{name}` after the optimizer that takes the steps."
        edit = moved_after(source, *pair) if source and pair else None
    change = Change(to=edit, words=words, must=law_holds(broken), choice=replaced)
    return case.finding(
        broken.use.place,
        f"`{name}` sets the learning rate of another optimizer than `{optimizer}`, which takes the"
        f" steps: its rate stays at {stepping.last:g}.",
        facts=(*broken.facts, Fact(f"`{optimizer}`", f"created at {stepping.made_at}")),
        why="A scheduler keeps the optimizer that it was created with; a later one of the same name"
        " is not that.",
        remedies=(change if edit else Fix(words),),
    )


def created_again(source: Source, broken: SchedulerOfAnotherOptimizer) -> Edit | None:
    """The same statement behind that of the new optimizer, which has the name of the old one."""
    lines = [place.line for place in (broken.schedule.made_at, broken.stepping.made_at) if place]
    statements = [source.statement_at(line) for line in lines if line is not None]
    match statements:
        case [ast.Assign() as scheduler, ast.Assign(targets=[ast.Name(id=name)]) as optimizer]:
            given = (node.id for node in ast.walk(scheduler.value) if isinstance(node, ast.Name))
            if name in given and not shares_lines(source, optimizer):
                return inserted_after(source, optimizer, source.segment(scheduler))
    return None
