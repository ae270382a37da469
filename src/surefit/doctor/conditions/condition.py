"""What every condition is, and several of them as one."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from surefit.doctor.observations import Watchpoint
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a condition holds, with the figures."""

    held: bool
    said: str
    decided: bool = True
    """False where nothing was seen that could decide it."""


class Condition(Protocol):
    """Holds the observations of a patched run against those of the first run."""

    @property
    def changes_the_past(self) -> bool:
        """The fix must change what comes before the fault (another table size, fewer rows), so
        that losses before it need not be equal."""

    def wants(self, before: Recording) -> int | None:
        """How many optimizer steps it must see; None: as many as there were up to the fault."""

    def judge(self, before: Recording, after: Recording) -> Judgement: ...


@runtime_checkable
class Watching(Protocol):
    """A condition that must see values at lines of the user's while the patched copy runs."""

    def watches(self, before: Recording) -> tuple[Watchpoint, ...]:
        """Lines as they were in the first run; whoever runs the copy finds them again in it."""


@runtime_checkable
class NeedsNoRun(Protocol):
    """A condition that the answers of the first run can decide alone."""

    @property
    def needs_no_run(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    @property
    def changes_the_past(self) -> bool:
        return any(one.changes_the_past for one in self.conditions)

    def wants(self, before: Recording) -> int | None:
        wanted = (one.wants(before) for one in self.conditions)
        return max((steps for steps in wanted if steps is not None), default=None)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        judged = [one.judge(before, after) for one in self.conditions]
        failed = [one for one in judged if not one.held and one.decided]
        told = failed or [one for one in judged if not one.held] or judged
        held = bool(judged) and all(one.held for one in judged)
        decided = held or bool(failed)
        return Judgement(held, "; ".join(one.said for one in told), decided)


def needs_no_run(condition: Condition) -> bool:
    """Whether the answers of the first run decide it alone."""
    if isinstance(condition, All):
        return bool(condition.conditions) and all(map(needs_no_run, condition.conditions))
    return isinstance(condition, NeedsNoRun) and condition.needs_no_run


def watchpoints(condition: Condition, before: Recording) -> tuple[Watchpoint, ...]:
    """All lines that a condition, or one that it is made of, must be seen at."""
    if isinstance(condition, All):
        every = (one for part in condition.conditions for one in watchpoints(part, before))
        return tuple(dict.fromkeys(every))
    return condition.watches(before) if isinstance(condition, Watching) else ()
