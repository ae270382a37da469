"""The learning rate follows a plan that fits the run: it is in use for most of it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from surefit.doctor.findings import Fact
from surefit.doctor.measures.rates import LearningRates, RateCourse, ScheduleSeen
from surefit.doctor.observations import Ended
from surefit.doctor.progress import first_crash
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.training.idle_schedules import never_stepped, of_another_optimizer, rate_facts
from surefit.laws.training.plateau_directions import backwards
from surefit.laws.training.rate_violations import (
    FactorIsRate,
    RateRisesAgain,
    RateVanishes,
    ScheduleTooFast,
    ScheduleTooSlow,
    WarmupNeverEnds,
)
from surefit.laws.training.restarted_schedules import created_again, of_checkpoints

LAW = Law("learning_rate", "the learning rate follows a plan that fits the run")

FEWEST_STEPS = 8
MOST_LOW = 0.5
"""Share of the steps that a rate may be below a thousandth of its peak."""
HALF_WAY = 0.5
"""Of the rate that a warm-up rises to: a run that ends below it had none of the planned rate."""
SEVERAL = 4
"""Times that a plan is longer or shorter than what is counted by it."""
FEWEST_EPOCHS = 3
MOST_BASE = 0.05
"""Of a rate whose square is told from a rate; `SAME` is how near it must be."""
SAME = 1e-3
LASTING = ("T_max", "total_steps", "num_training_steps", "total_iters", "max_steps")
"""Lengths after which a schedule has ended."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    recording = case.recording
    for rates in recording.of_first_rank(LearningRates):
        if ran_to_its_end(rates, recording):
            yield from of_rates(rates, case)


def ran_to_its_end(rates: LearningRates, recording: Recording) -> bool:
    """What was planned beyond the end of a run that was cut short says nothing."""
    failed = any(ended.code for ended in recording.all(Ended))
    return rates.complete and not failed and first_crash(recording) is None


def of_rates(rates: LearningRates, case: Case) -> Iterator[BrokenLaw]:
    again = list(created_again(rates))
    yield from again
    yield from of_checkpoints(rates, case)
    if again:
        return
    for course in rates.optimizers:
        own = [known for known in rates.schedules if known.optimizer == course.serial]
        turned = [found for schedule in own for found in backwards(case, schedule)]
        yield from turned
        if course.steps >= FEWEST_STEPS and not turned:
            yield from of_course(course, outermost(own), rates)
        for schedule in own:
            yield from never_stepped(course, schedule, case)
    yield from of_another_optimizer(rates)


def outermost(own: list[ScheduleSeen]) -> list[ScheduleSeen]:
    """Those that no other steps; where the place of such a one is not known, that of its parts."""
    inner = [known for known in own if known.inner and known.made_at is not None]
    return [
        replace(known, made_at=known.made_at or (inner[0].made_at if inner else None))
        for known in own
        if not known.inner
    ]


def of_course(
    course: RateCourse, own: list[ScheduleSeen], rates: LearningRates
) -> Iterator[BrokenLaw]:
    schedule = own[0] if len(own) == 1 else None
    stepped = schedule if schedule is not None and schedule.calls else None
    yield from next(
        (
            [found]
            for found in (
                too_fast(course, stepped, rates.epochs) if stepped else None,
                vanished(course, stepped, rates.epochs),
                squared(course, stepped) if stepped else None,
                too_slow(course, stepped, rates.epochs) if stepped else None,
                still_warming_up(course, stepped),
                rises_again(course, stepped) if stepped else None,
            )
            if found is not None
        ),
        [],
    )


def vanished(course: RateCourse, schedule: ScheduleSeen | None, epochs: int) -> BrokenLaw | None:
    place = (schedule.at if schedule else None) or course.made_at
    if not course.highest or course.low < MOST_LOW * course.steps or place is None:
        return None
    return RateVanishes(
        use=Expression(place),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"The learning rate falls to practically zero ({course.last:.2g}, from"
        f" {course.highest:g}) at step {course.low_from:,} of {course.steps:,}.",
        facts=rate_facts(course),
        course=course,
        schedule=schedule,
        epochs=epochs,
    )


def squared(course: RateCourse, schedule: ScheduleSeen) -> BrokenLaw | None:
    """The highest factor of a `LambdaLR` is the base rate itself: 1e-3 of 1e-3 is 1e-6."""
    factor = course.highest / course.base if course.base else 0.0
    if schedule.kind != "LambdaLR" or not 0 < course.base <= MOST_BASE or schedule.made_at is None:
        return None
    if abs(factor - course.base) > SAME * course.base:
        return None
    return FactorIsRate(
        use=Expression(schedule.made_at),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"The learning rate is at most {course.highest:.3g}, the square of the {course.base:g}"
        " that the optimizer was created with.",
        facts=rate_facts(course),
        course=course,
        schedule=schedule,
    )


def too_fast(course: RateCourse, schedule: ScheduleSeen, epochs: int) -> BrokenLaw | None:
    """All of its plan is over in a small part of the run, and the plan fits the epochs."""
    plan = dict(schedule.plan)
    name = "milestones" if "milestones" in plan else "T_max" if "T_max" in plan else ""
    length = plan.get(name, 0)
    if schedule.at is None or epochs < FEWEST_EPOCHS or not length > 1:
        return None
    fits = length <= epochs if name == "milestones" else length == epochs
    by_batch = schedule.calls >= SEVERAL * epochs and schedule.calls >= 0.9 * course.steps
    if not fits or not by_batch or course.steps < SEVERAL * length:
        return None
    return ScheduleTooFast(
        use=Expression(schedule.at),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"`{schedule.kind}` is planned for {length:,} epochs and is stepped after every batch:"
        f" {schedule.calls:,} times in {counted(epochs, 'epoch')}.",
        facts=(*rate_facts(course), Fact(name, f"{length:,}")),
        course=course,
        schedule=schedule,
        epochs=epochs,
        length=(name, length),
    )


def too_slow(course: RateCourse, schedule: ScheduleSeen, epochs: int) -> BrokenLaw | None:
    """A plan as long as the run has steps, of which each epoch takes one."""
    if schedule.at is None or schedule.calls > max(epochs, 1) + 1 or schedule.plateau:
        return None
    lengths = [(name, length) for name, length in schedule.plan if name in LASTING]
    for name, length in lengths:
        fits = 0.5 * course.steps <= length <= 2 * course.steps
        if fits and length >= SEVERAL * schedule.calls and course.steps >= SEVERAL * schedule.calls:
            return ScheduleTooSlow(
                use=Expression(schedule.at),
                steps=course.steps,
                fault=f"rate of {course.serial}",
                said=f"`{schedule.kind}` is planned for {length:,} steps and is stepped"
                f" {schedule.calls:,} times, once per epoch: the rate ends at {course.last:g}.",
                facts=(*rate_facts(course), Fact(name, f"{length:,}")),
                course=course,
                schedule=schedule,
                epochs=epochs,
                length=(name, length),
            )
    return None


def still_warming_up(course: RateCourse, schedule: ScheduleSeen | None) -> BrokenLaw | None:
    rates = [rate for _, rate in course.course]
    rises = sum(later > rate for rate, later in pairwise(rates))
    place = (schedule.made_at if schedule else None) or course.made_at
    if place is None or course.fallen or not course.base or rises < min(5, len(rates) - 1):
        return None
    if course.highest > HALF_WAY * course.base or course.last < course.highest or rises < 3:
        return None
    warmup = warmup_of(course, schedule)
    words = f" A warm-up of {warmup[1]:,} steps is longer than the run." if warmup else ""
    return WarmupNeverEnds(
        use=Expression(place),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"The run ends during the warm-up: after {counted(course.steps, 'step')} the learning"
        f" rate is {course.last:.2g}, {course.last / course.base:.1%} of {course.base:g}.{words}",
        facts=rate_facts(course),
        course=course,
        schedule=schedule,
        length=warmup,
    )


def warmup_of(course: RateCourse, schedule: ScheduleSeen | None) -> tuple[str, int] | None:
    """The length that is longer than the run; of several the one that is named so."""
    plan = schedule.plan if schedule else ()
    longer = [(name, length) for name, length in plan if length > course.steps]
    named = [(name, length) for name, length in longer if "warm" in name.lower()]
    return named[0] if named else longer[0] if len(longer) == 1 else None


def rises_again(course: RateCourse, schedule: ScheduleSeen) -> BrokenLaw | None:
    """Once: where it goes up and down several times, that is a way to train."""
    length = dict(schedule.plan).get("T_max", 0)
    over = schedule.position - length
    if schedule.kind != "CosineAnnealingLR" or length < 2 or schedule.made_at is None:
        return None
    if not 0.15 * length < over < 0.95 * length or schedule.calls < schedule.position:
        return None
    lowest = min((rate for _, rate in course.course), default=0.0)
    if course.last < 0.05 * course.highest or lowest > 0.5 * course.last:
        return None
    return RateRisesAgain(
        use=Expression(schedule.made_at),
        steps=course.steps,
        fault=f"rate of {course.serial}",
        said=f"The learning rate rises again: `T_max` is {length:,} and `{schedule.kind}` stepped"
        f" {schedule.position:,} times, so that the rate ends at {course.last:.2g} after"
        f" {lowest:.2g}.",
        facts=rate_facts(course),
        course=course,
        schedule=schedule,
    )


def watched(recording: Recording) -> MeasuredOn:
    rates = [known for known in recording.all(LearningRates) if known.steps]
    steps = sum(known.steps for known in rates)
    if not rates:
        return MeasuredOn(why_not="no step was taken")
    if not any(ran_to_its_end(known, recording) for known in rates):
        return MeasuredOn(why_not="the run did not come to its end")
    count = sum(len(known.schedules) for known in rates)
    return MeasuredOn(on=f"{counted(steps, 'step')}, {counted(count, 'scheduler')}")
