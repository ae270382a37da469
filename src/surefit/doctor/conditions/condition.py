"""What every condition is, what it needs in order to be judged, and several of them as one."""

from dataclasses import dataclass
from typing import Protocol

from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a condition holds, with the figures."""

    held: bool
    said: str
    decided: bool = True
    """False where nothing was seen that could decide it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a try must provide so that a condition can be judged."""

    steps: int | None = None
    """Optimizer steps that must be seen; None: as many as there were up to the fault."""
    changes_the_past: bool = False
    """The fix can change what comes before the fault (another table size, fewer rows), so that
    losses before it need not be equal."""
    watchpoints: tuple[Watchpoint, ...] = ()
    """Lines at which values must be seen, as they were in the first run; whoever runs the copy
    finds them again in it."""
    no_run: bool = False
    """The answers of the first run can decide it alone."""
    first_run_shows: bool = False
    """Of a silent fault: it looks only at what every run writes down, so that the first run shows
    it not to be met, and none is needed for that."""


class Condition(Protocol):
    """Holds the observations of a patched run against those of the first run."""

    def needs(self, before: Recording) -> Needs: ...

    def judge(self, before: Recording, after: Recording) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    def needs(self, before: Recording) -> Needs:
        parts = [condition.needs(before) for condition in self.conditions]
        points = (point for part in parts for point in part.watchpoints)
        return Needs(
            steps=max((part.steps for part in parts if part.steps is not None), default=None),
            changes_the_past=any(part.changes_the_past for part in parts),
            watchpoints=tuple(dict.fromkeys(points)),
            no_run=bool(parts) and all(part.no_run for part in parts),
            first_run_shows=bool(parts) and all(part.first_run_shows for part in parts),
        )

    def judge(self, before: Recording, after: Recording) -> Judgement:
        judged = [one.judge(before, after) for one in self.conditions]
        failed = [one for one in judged if not one.held and one.decided]
        told = failed or [one for one in judged if not one.held] or judged
        held = bool(judged) and all(one.held for one in judged)
        decided = held or bool(failed)
        return Judgement(held, "; ".join(dict.fromkeys(one.said for one in told)), decided)


def passed_at(watchpoint: Watchpoint, after: Recording) -> list[Passed]:
    """What was seen there, in order."""
    return [one for one in after.all(Passed) if one.watched == watchpoint]
