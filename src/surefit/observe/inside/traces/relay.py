"""A process that only waits for another, and ends as that one does."""

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

PARENT_DIES, SET_NAME, ADOPT_ORPHANS = 1, 15, 36
RELAY = "surefit-relay"
"""Name of such a process: what it holds in memory is the other one's."""
SWEEPS, BETWEEN_SWEEPS = 50, 0.01


def keep() -> None:
    """Forks; returns in the new process. The old one waits for it, kills whatever that leaves
    running, and ends as it did."""
    call("prctl", ADOPT_ORPHANS, 1, 0, 0, 0)
    child = os.fork()
    if not child:
        die_with_the_parent()
        os.setsid()
        return
    only_waits()
    ended = status = 0
    while ended != child:
        ended, status = os.waitpid(-1, 0)
    sweep()
    end_like(status)


def sweep() -> None:
    """Kills all that is below this process, also what is started meanwhile."""
    for _ in range(SWEEPS):
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        if not children:
            return
        for number in map(int, children):
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(number, 0)
        time.sleep(BETWEEN_SWEEPS)


def end_like(status: int) -> NoReturn:
    """With the exit code, or by the signal, of another process."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def die_with_the_parent() -> None:
    call("prctl", PARENT_DIES, signal.SIGKILL, 0, 0, 0)


def only_waits() -> None:
    call("prctl", SET_NAME, RELAY.encode(), 0, 0, 0)


def call(name: str, *given: Any) -> None:
    """A function of the C library that gives less than 0 where it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*given) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
