"""How far a run got: its counts of steps, and how many there were before a fault."""

from surefit.doctor.observations import Crash, Steps
from surefit.doctor.recording import Recording


def final_steps(seen: Recording, rank: int | None = None) -> list[Steps]:
    """The last count of each process that trained; of one rank, if asked."""
    last = {steps.process.pid: steps for steps in seen.all(Steps)}
    every = [steps for steps in last.values() if steps.backwards or steps.steps or steps.roots]
    return [steps for steps in every if rank is None or steps.process.rank == rank]


def steps_taken(seen: Recording) -> int:
    """Optimizer steps of the process that took most."""
    return max((steps.steps for steps in final_steps(seen)), default=0)


def first_crash(seen: Recording) -> Crash | None:
    """What ended the run first, by time."""
    ended = [crash for crash in seen.all(Crash) if not crash.swallowed]
    return min(ended, key=lambda crash: crash.at, default=None)


def steps_before(crash: Crash, seen: Recording) -> int:
    """Optimizer steps that a run had taken; a loader's worker takes none, its process does."""
    passed_on = [other for other in seen.all(Crash) if other.raised_in == crash.id]
    return max([crash.steps, *(other.steps for other in passed_on)])


def steps_before_the_fault(seen: Recording) -> int:
    """Before what ended the run first; where nothing did, none count."""
    crash = first_crash(seen)
    return steps_before(crash, seen) if crash else 0
