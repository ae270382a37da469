"""Processes that an observed one starts: those that a signal ends, and those that no one observes.

Whoever starts a process learns how it ended. A rank, a loader's worker or a pool's member that is
killed can no longer tell of it.
"""

import signal
import sys
import time
from collections.abc import Mapping
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from surefit.doctor.observations import Death, NotObserved, Process
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.traces import outside

NO_WAY_OUT = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS", "SIGKILL", "SIGXCPU")
"""Signals that a healthy program does not end its children with; SIGKILL counts if it was not
this process that sent it."""
MOST = 1000
"""Children that are remembered by what they do."""

_started: dict[int, Process] = {}
_killed: set[int] = set()


def install() -> None:
    sys.addaudithook(_note_kills)


def _note_kills(event: str, args: tuple[Any, ...]) -> None:
    if event in ("os.kill", "os.killpg") and args[1] == signal.SIGKILL:
        _killed.add(args[0])


@spool.guarded("the end of a child process")
def _ended(pid: int, code: int | None) -> None:
    """Told each time that somebody has asked; the first answer counts."""
    process = _started.pop(pid, None) or Process(pid, "child")
    name = signal.Signals(-code).name if code is not None and code < 0 else ""
    if name not in NO_WAY_OUT or (name == "SIGKILL" and pid in _killed):
        return
    spool.saw(Death(process, "signal", name, 128 - (code or 0), at=time.time()))


@after_import("subprocess")
def programs(module: ModuleType) -> None:
    kind = module.Popen
    make, handle = kind.__init__, getattr(kind, "_handle_exitstatus", None)

    @wraps(make)
    def __init__(self: Any, args: Any, *more: Any, **named: Any) -> None:  # noqa: N807
        make(self, args, *more, **named)
        _note_program(self.pid, args, named.get("env"))

    kind.__init__ = __init__
    if handle is None:
        return

    @wraps(handle)
    def _handle_exitstatus(self: Any, *args: Any, **named: Any) -> Any:
        told = handle(self, *args, **named)
        _ended(self.pid, self.returncode)
        return told

    kind._handle_exitstatus = _handle_exitstatus


@spool.guarded("a program that was started")
def _note_program(pid: int, args: Any, environment: Mapping[Any, Any] | None) -> None:
    rank = (environment or {}).get("RANK")
    if isinstance(rank, str) and rank.isdigit() and len(_started) < MOST:
        world = str((environment or {}).get("WORLD_SIZE", ""))
        size = int(world) if world.isdigit() else None
        _started[pid] = Process(pid, "rank", int(rank), size)
    why = outside.why_unobserved(args, environment)
    if why:
        spool.saw(NotObserved("a Python process that the script started", why))


def processes(module: ModuleType) -> None:
    """Of multiprocessing, and of the copy of it that `datasets` uses."""
    kind = module.Popen
    poll = kind.poll

    @wraps(poll)
    def polls(self: Any, *args: Any, **named: Any) -> Any:
        known = self.returncode
        found = poll(self, *args, **named)
        if known is None and found is not None:
            _ended(self.pid, found)
        return found

    kind.poll = polls
    if "__init__" not in vars(kind):
        return
    make = kind.__init__

    @wraps(make)
    def __init__(self: Any, process_obj: Any) -> None:  # noqa: N807
        make(self, process_obj)
        _note_process(self.pid, process_obj)

    kind.__init__ = __init__


for _library in ("multiprocessing", "multiprocess"):
    for _way in ("popen_fork", "popen_forkserver"):
        after_import(f"{_library}.{_way}")(processes)


@spool.guarded("a process that was started")
def _note_process(pid: int, started: Any) -> None:
    """A loader's worker is known by what it runs."""
    target = vars(started).get("_target")
    is_function = isinstance(target, FunctionType) and target.__name__ == "_worker_loop"
    if not is_function or len(_started) >= MOST:
        return
    given = dict(zip(target.__code__.co_varnames, vars(started).get("_args", ()), strict=False))
    rank, world = spool.rank()
    _started[pid] = Process(pid, "worker", rank, world, given.get("worker_id"))


@finishing.after_fork
def forget_parent() -> None:
    _started.clear()
    _killed.clear()
