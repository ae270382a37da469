"""What every condition is, what some of them say beyond that, and several of them as one."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a condition holds, with the figures."""

    held: bool
    said: str
    decided: bool = True
    """False where nothing was seen that could decide it."""


class Condition(Protocol):
    """Holds the observations of a patched run against those of the first run.

    What else there is to say of one, it says only where it is not as usual: see the functions at
    the end of this file.
    """

    def judge(self, before: Recording, after: Recording) -> Judgement: ...


@runtime_checkable
class WantsSteps(Protocol):
    """A condition that must see more than the steps up to the fault."""

    def wants(self, before: Recording) -> int | None:
        """How many optimizer steps; None: as many as there were up to the fault."""


@runtime_checkable
class ChangesThePast(Protocol):
    """A condition of a fix that can change what comes before the fault (another table size, fewer
    rows), so that losses before it need not be equal."""

    @property
    def changes_the_past(self) -> bool: ...


@runtime_checkable
class Watching(Protocol):
    """A condition that must see values at a line of the user's while the patched copy runs."""

    @property
    def watchpoint(self) -> Watchpoint | None:
        """The line as it was in the first run; whoever runs the copy finds it again in it."""


@runtime_checkable
class WatchingSeveral(Protocol):
    """A condition that must see values at more than one line."""

    @property
    def watchpoints(self) -> tuple[Watchpoint, ...]: ...


@runtime_checkable
class NeedsNoRun(Protocol):
    """A condition that the answers of the first run can decide alone."""

    @property
    def needs_no_run(self) -> bool: ...


@runtime_checkable
class ShownByTheFirstRun(Protocol):
    """A condition of a silent fault that looks only at what every run writes down, so that the
    first run shows it not to be met, and none is needed for that."""

    @property
    def shown_by_the_first_run(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    def judge(self, before: Recording, after: Recording) -> Judgement:
        judged = [one.judge(before, after) for one in self.conditions]
        failed = [one for one in judged if not one.held and one.decided]
        told = failed or [one for one in judged if not one.held] or judged
        held = bool(judged) and all(one.held for one in judged)
        decided = held or bool(failed)
        return Judgement(held, "; ".join(one.said for one in told), decided)


def parts(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that one is made of, which can be itself alone."""
    if not isinstance(condition, All):
        return (condition,)
    return tuple(part for one in condition.conditions for part in parts(one))


def steps_wanted(condition: Condition, before: Recording) -> int | None:
    """How many optimizer steps must be seen; None: as many as there were up to the fault."""
    wanted = [one.wants(before) for one in parts(condition) if isinstance(one, WantsSteps)]
    return max((steps for steps in wanted if steps is not None), default=None)


def changes_the_past(condition: Condition) -> bool:
    """Whether losses before the fault need not be equal."""
    return any(one.changes_the_past for one in parts(condition) if isinstance(one, ChangesThePast))


def needs_no_run(condition: Condition) -> bool:
    """Whether the answers of the first run decide it alone."""
    every = parts(condition)
    return bool(every) and all(isinstance(one, NeedsNoRun) and one.needs_no_run for one in every)


def shown_by_the_first_run(condition: Condition) -> bool:
    """Whether the first run can show that it is not met without the fix."""
    every = parts(condition)
    shown = [isinstance(one, ShownByTheFirstRun) and one.shown_by_the_first_run for one in every]
    return bool(shown) and all(shown)


def watchpoints(condition: Condition) -> tuple[Watchpoint, ...]:
    """All lines that a condition, or one that it is made of, must be seen at."""
    found: list[Watchpoint] = []
    for one in parts(condition):
        if isinstance(one, WatchingSeveral):
            found += one.watchpoints
        elif isinstance(one, Watching) and one.watchpoint is not None:
            found.append(one.watchpoint)
    return tuple(dict.fromkeys(found))


def passed_at(watchpoint: Watchpoint, after: Recording) -> list[Passed]:
    """What was seen there, in order."""
    return [one for one in after.all(Passed) if one.watched == watchpoint]
