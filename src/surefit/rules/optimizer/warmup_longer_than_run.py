"""The warm-up of the learning rate is longer than the run.

## What happens
A warm-up raises the rate from zero over a number of steps. A run with fewer steps than that ends
while the rate is still a fraction of what was planned.

## Why it matters
The loss decreases a little, the run ends with results near chance, and the model seems too weak.
Numbers of warm-up steps are often copied from a run that was a hundred times as long.

## What to do
Choose the warm-up as a share of the run, usually 3 to 10 %, or train longer.

## How it is recognised
The run came to its end, the rate never fell, it was highest at the last step, and there it was less
than half of the rate that the optimizer was created with or that the schedule rises to.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import WarmupNeverEnds
from surefit.remedies.replace import ReplaceWith
from surefit.source.selection import nodes_within, the_only

RULE = Rule("SF673", "warmup-longer-than-run", Severity.ERROR, __doc__)

SHARE = 0.1
"""Of a run that a warm-up is to take."""


@RULE.on(WarmupNeverEnds)
def the_run_ends_in_the_warmup(broken: WarmupNeverEnds, case: Case) -> Finding:
    course, length = broken.course, broken.length
    literal = only_literal(case, length[1]) if length else number_at(case, course.steps)
    shorter = max(1, round(SHARE * course.steps))
    number = length[1] if length else int(literal.text) if literal else 0
    long = f"The warm-up of {number:,} steps" if number else "The warm-up"
    words = f"Choose a warm-up that ends early in the run, {shorter:,} steps for instance."
    fix = (
        ReplaceWith(at=literal, text=str(shorter), words=words, must=law_holds(broken), choice=True)
        if literal
        else Fix(words, choice=True)
    )
    created = broken.schedule.made_at if broken.schedule else None
    return case.finding(
        literal.place if literal else broken.use.place,
        f"{long} is longer than the run of {course.steps:,}: the learning rate never reaches"
        f" {course.base:g} and ends at {course.last:.2g}, {course.last / course.base:.1%} of it.",
        facts=(*broken.facts, *((Fact("scheduler", f"created at {created}"),) if created else ())),
        why="The rate rises from zero over the steps of the warm-up; the run is over before that.",
        remedies=(fix,),
    )


def number_at(case: Case, steps: int) -> Expression | None:
    """The only number beyond the run's steps in a statement that sets `group["lr"]`."""
    return the_only(
        case.expression(source, number)
        for source, target in case.recording.every(ast.Subscript)
        if isinstance(target.ctx, ast.Store)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
        for number in nodes_within(source.statement_of(target), ast.Constant)
        if type(number.value) is int and number.value > steps
    )


def only_literal(case: Case, number: int) -> Expression | None:
    """The one place in the user's files at which this number is written; equal ones elsewhere
    could be anything."""
    return the_only(
        case.expression(source, node)
        for source, node in case.recording.every(ast.Constant)
        if type(node.value) is int and node.value == number
    )
