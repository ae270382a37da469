"""Of several processes that fail, which failed first, and which only because another one did."""

from collections.abc import Iterator

from surefit.doctor.handlers import computes_instead, handler_at, passes_on, tells_whether
from surefit.doctor.observations import Crash, Death, Ended, Steps, Swallowed
from surefit.doctor.recording import Recording

ASKED_TO_END = ("SIGTERM", "SIGHUP", "SIGINT", "SIGXCPU")
NO_FAULT = ("KeyboardInterrupt", "SystemExit", "GeneratorExit", "SignalException")

PASSES_ON = (
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "CalledProcessError",
    "BrokenProcessPool",
)
"""What a process raises because one that it started has failed."""


def is_cause(crash: Crash, seen: Recording) -> bool:
    """Whether a crash is where a run failed: no deliberate end, and no consequence of another."""
    if crash.kind.rpartition(".")[2] in NO_FAULT or seen.crash(crash.raised_in) is not None:
        return False
    if crash.swallowed:
        caught = caught_by(crash, seen)
        return caught is not None and is_lost(caught, seen)
    if is_refused(crash) and is_told_elsewhere(crash, seen):
        return False
    return not any(True for _ in causes_of(crash, seen))


REFUSES = "_check_not_importing_main"
LOADER = "torch/utils/data/dataloader.py"


def is_refused(crash: Crash) -> bool:
    """A process that was importing the script came to a line that starts processes."""
    return bool(crash.frames) and crash.frames[-1].function == REFUSES


def is_told_elsewhere(crash: Crash, seen: Recording) -> bool:
    """Of several that were refused the first counts; of a loader's workers the loader tells."""
    for other in seen.all(Crash):
        if any(one.place.file.replace("\\", "/").endswith(LOADER) for one in other.frames):
            if not is_refused(other):
                return True
        elif is_refused(other) and (other.at, other.id) < (crash.at, crash.id):
            return True
    return False


def caught_by(crash: Crash, seen: Recording) -> Swallowed | None:
    """The handler that a swallowed exception ended in."""
    return next((one for one in seen.all(Swallowed) if one.crash == crash.id), None)


def is_lost(caught: Swallowed, seen: Recording) -> bool:
    """More often than not the work under way was given up, and nothing was done in its place."""
    if not caught.ran or 2 * caught.times <= caught.entries:
        return False
    source = seen.source(caught.handler)
    handler = handler_at(source, caught.handler) if source else None
    if source is None or handler is None:
        return True
    return not (
        passes_on(handler) or computes_instead(source, handler) or tells_whether(source, handler)
    )


def causes_of(crash: Crash, seen: Recording) -> Iterator[Crash | Death]:
    """Failures of other processes that came first and bring this one down."""
    for other in failed(seen):
        if other.process.pid != crash.process.pid and other.at < crash.at and linked(other, crash):
            yield other
    yield from (death for death in seen.all(Death) if brings_down(death, crash))


def linked(first: Crash, then: Crash) -> bool:
    """Ranks of one run wait for each other; whoever starts a process may wait for its end."""
    if then.process.role == "launcher" or then.kind.rpartition(".")[2] in PASSES_ON:
        return True
    return first.process.rank is not None and then.process.rank is not None


def brings_down(death: Death, crash: Crash) -> bool:
    """A loader says which worker died, by its number; a launcher tells of every rank."""
    if death.process.pid == crash.process.pid or came_later(death, crash):
        return False
    if death.signal in ASKED_TO_END:
        return False
    if death.process.role == "worker":
        return str(death.process.pid) in crash.said
    if crash.kind.rpartition(".")[2] in PASSES_ON:
        return True
    return death.process.role == "rank" and crash.process.role in ("rank", "launcher")


def came_later(death: Death, crash: Crash) -> bool:
    """A process was still alive when another had failed, and long enough for that to reach it."""
    return bool(death.at) and death.at > crash.at + NOTICED


NOTICED = 5.0
"""Seconds after which whoever started a process knows of its death, at the latest."""


def failed(seen: Recording) -> list[Crash]:
    """Crashes that ended a process, the first one first."""
    ended = [
        crash
        for crash in seen.all(Crash)
        if not crash.swallowed and crash.kind.rpartition(".")[2] not in NO_FAULT
    ]
    return sorted(ended, key=lambda crash: crash.at)


def ranks_that_followed(crash: Crash, seen: Recording) -> list[int]:
    """Other ranks that failed after this one."""
    found = {
        other.process.rank
        for other in failed(seen)
        if other.process.pid != crash.process.pid and other.at >= crash.at
    }
    return sorted(rank for rank in found if rank is not None and rank != crash.process.rank)


def was_only_read(seen: Recording) -> bool:
    """Nothing was run: there are sources to look at, and no observation of a run."""
    return not any(True for kind in (Crash, Steps, Swallowed, Death, Ended) for _ in seen.all(kind))
