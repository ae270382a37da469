"""Schedulers that change no rate: never stepped, or of an optimizer that takes no steps."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact
from surefit.doctor.measures.rates import LearningRates, RateCourse, ScheduleSeen
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw
from surefit.laws.training.made_names import name_at
from surefit.laws.training.rate_violations import (
    SchedulerNeverStepped,
    SchedulerOfAnotherOptimizer,
)
from surefit.source.reading import Source, dotted

FEWEST_STEPS = 8
NEARLY_ALL, REPLACED = 0.9, 0.25
"""Share of the calls before which another optimizer had stepped: of all, or where the own one of
the schedule stepped until it was replaced."""


def never_stepped(course: RateCourse, schedule: ScheduleSeen, case: Case) -> Iterator[BrokenLaw]:
    """Its name has no `step` anywhere in the source, and nothing else gets it."""
    place = schedule.made_at
    source = case.source(place)
    idle = not (schedule.calls or schedule.inner or schedule.plateau)
    if place is None or source is None or not idle or schedule.optimizer_steps < FEWEST_STEPS:
        return
    name = name_at(source, place)
    if name is None or not name.isidentifier() or is_used(source, name, place.line or 0):
        return
    yield SchedulerNeverStepped(
        use=Expression(place),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"`{name}.step()` is never called: the learning rate stays at {course.last:g} for all"
        f" {counted(course.steps, 'step')}.",
        facts=rate_facts(course),
        course=course,
        schedule=schedule,
    )


def is_used(source: Source, name: str, line: int) -> bool:
    """Handed on, stepped, or stepped by another scheduler; its rate may be asked for. A name of a
    function is looked for in that alone."""
    statement = source.statement_at(line)
    scope = source.scope_of(statement) if statement is not None else source.tree
    for node in ast.walk(scope):
        if not isinstance(node, ast.Name):
            continue
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent = source.parents.get(node)
        if not isinstance(parent, ast.Attribute) or parent.attr in ("step", "load_state_dict"):
            return True
    return any(dotted(node).endswith(f".{name}") for node in source.every(ast.Attribute))


def of_another_optimizer(rates: LearningRates) -> Iterator[BrokenLaw]:
    """At nearly every call another optimizer of the same parameters had stepped, not its own; or
    from some call on, where the other one was created later."""
    for schedule in rates.schedules:
        place, replaced = schedule.at, bool(schedule.optimizer_steps)
        share = REPLACED if replaced else NEARLY_ALL
        if schedule.unheard < 2 or schedule.unheard < share * schedule.calls or place is None:
            continue
        if schedule.inner:
            continue
        stepping = [
            known
            for known in rates.optimizers
            if known.steps >= 2 and known.serial > schedule.serial * replaced
            if known.serial != schedule.optimizer
        ]
        if len(stepping) == 1 and schedule.made_at is not None and stays(stepping[0]):
            yield SchedulerOfAnotherOptimizer(
                use=Expression(schedule.made_at),
                steps=stepping[0].steps,
                fault=f"rate of {stepping[0].serial}",
                said=f"`{schedule.kind}` sets the rate of another optimizer than the one that"
                f" steps: that rate stays at {stepping[0].last:g}.",
                facts=rate_facts(stepping[0]),
                schedule=schedule,
                stepping=stepping[0],
            )


def stays(course: RateCourse) -> bool:
    """Where it changes somebody sets it, maybe to what the scheduler says."""
    return len({rate for _, rate in course.course}) < 2


def rate_facts(course: RateCourse) -> tuple[Fact, ...]:
    first = course.course[0][1] if course.course else 0.0
    points = [course.course[i * (len(course.course) - 1) // 4] for i in range(5)]
    shown = ", ".join(f"{rate:.2g} at {step:,}" for step, rate in dict.fromkeys(points))
    return (
        Fact("learning rate", f"{first:.2g} at first, {course.highest:.2g} at most"),
        Fact("at steps", shown),
    )
