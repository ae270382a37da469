"""Optimizers and schedules that start over: in every epoch, or where training is resumed."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.rates import CheckpointRead, LearningRates, RateCourse, ScheduleSeen
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw
from surefit.laws.training.made_names import name_at
from surefit.laws.training.rate_violations import OptimizerCreatedAgain, ScheduleStartsOver
from surefit.source.reading import Source, called

FEWEST_EPOCHS = 3

PROGRESS = ("epoch", "step", "iter", "batch_idx", "batches_done")
"""Parts of keys under which a checkpoint says how far training had come."""
ONLY_TOLD = ("print", "info", "debug", "warning", "log", "format", "write", "echo")


def created_again(rates: LearningRates) -> Iterator[BrokenLaw]:
    """Of one line, for one model, three times or more, once for each epoch at most; other data,
    and weights that were loaded in between, begin something new."""
    if rates.weights_set or rates.epochs < FEWEST_EPOCHS or rates.datasets > 1:
        return
    kinds: dict[object, list[RateCourse]] = {}
    for course in rates.optimizers:
        if course.made_at is not None:
            kinds.setdefault((course.made_at, course.parameters), []).append(course)
    for courses in kinds.values():
        each = 0.7 * rates.epochs <= len(courses) <= rates.epochs + 1
        if len(courses) >= FEWEST_EPOCHS and each and any(known.keeps_state for known in courses):
            yield created(courses, None, rates)
    by_line: dict[object, list[ScheduleSeen]] = {}
    for schedule in rates.schedules:
        if not schedule.inner and schedule.made_at is not None and schedule.calls:
            by_line.setdefault((schedule.made_at, schedule.optimizer), []).append(schedule)
    for schedules in by_line.values():
        own = [known for known in rates.optimizers if known.serial == schedules[0].optimizer]
        each = 0.7 * rates.epochs <= len(schedules) <= rates.epochs + 1
        if len(schedules) >= FEWEST_EPOCHS and each and own:
            yield created(own, schedules[0], rates)


def created(
    courses: list[RateCourse], schedule: ScheduleSeen | None, rates: LearningRates
) -> BrokenLaw:
    place = schedule.made_at if schedule else courses[0].made_at
    assert place is not None
    what, often = (schedule.kind, rates.epochs) if schedule else (courses[0].kind, len(courses))
    return OptimizerCreatedAgain(
        use=Expression(place),
        steps=sum(course.steps for course in courses),
        fault=f"created again at {place}",
        said=f"`{what}` is created again in every epoch, {often:,} times for the same parameters.",
        facts=(Fact("steps of each", f"{courses[0].steps:,}"),),
        courses=tuple(courses),
        schedule=schedule,
    )


def of_checkpoints(rates: LearningRates, case: Case) -> Iterator[BrokenLaw]:
    for checkpoint in rates.checkpoints:
        place = checkpoint.place
        missing = tuple(not_loaded(checkpoint, rates))
        if place is None or not missing or not checkpoint.model_loaded:
            continue
        if not checkpoint.steps_after or not reads_progress(case.source(place), place):
            continue
        keys = " and ".join(f'`["{key}"]`' for key in missing)
        yield ScheduleStartsOver(
            use=Expression(place),
            steps=checkpoint.step + checkpoint.steps_after,
            fault=f"checkpoint read at {place}",
            said=f"Training goes on from a checkpoint whose {keys} is not loaded: the optimizer"
            " and its schedule start over.",
            facts=tuple(checkpoint_facts(checkpoint)),
            checkpoint=checkpoint,
            missing=missing,
        )


def not_loaded(checkpoint: CheckpointRead, rates: LearningRates) -> Iterator[str]:
    if checkpoint.optimizer_key and checkpoint.has_state and not checkpoint.optimizer_loaded:
        yield checkpoint.optimizer_key
    own = any(known.optimizer == checkpoint.optimizer for known in rates.schedules)
    if checkpoint.scheduler_key and own and not checkpoint.scheduler_loaded:
        yield checkpoint.scheduler_key


def checkpoint_facts(checkpoint: CheckpointRead) -> Iterator[Fact]:
    if checkpoint.rate:
        rate = f"{checkpoint.rate:.3g} in the checkpoint, {checkpoint.rate_after:.3g} at the next"
        yield Fact("learning rate", f"{rate} step")
    if checkpoint.has_state and not checkpoint.optimizer_loaded:
        yield Fact("momentum and averages", "in the checkpoint; empty at the next step")
    yield Fact("steps after it", f"{checkpoint.steps_after:,}")


def reads_progress(source: Source | None, place: Place) -> bool:
    """The epoch or the step of the checkpoint that is read at this line is used, and not only
    printed."""
    name = name_at(source, place)
    if source is None or name is None:
        return False
    return any(not only_told(source, node) for node in entries(source, name, PROGRESS))


def entries(source: Source, name: str, parts: tuple[str, ...]) -> Iterator[ast.expr]:
    """`ckpt["epoch"]` and `ckpt.get("epoch", 0)`."""
    for node in source.every(ast.expr):
        match node:
            case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str(key))):
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=held), attr="get"),
                args=[ast.Constant(value=str(key)), *_],
            ):
                pass
            case _:
                continue
        if held == name and any(part in key.lower() for part in parts):
            yield node


def only_told(source: Source, node: ast.expr) -> bool:
    for outer in source.up(node):
        if isinstance(outer, ast.Call) and called(outer) in ONLY_TOLD:
            return True
        if isinstance(outer, ast.stmt):
            return False
    return False
