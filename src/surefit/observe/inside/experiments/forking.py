"""A function run in a fork that no one sees: no zombie, no signal, no output, no open file."""

import ctypes
import gc
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from surefit.observe.inside import finishing
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.under_way import now

SECONDS = 8.0
"""After so long a fork is ended."""
AT_END = 4.0
"""Seconds that a run which ends waits for a fork at most."""
ROOM = 1.3
"""Memory that must be free, as a multiple of what this process has."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
WARNS_SINCE = (3, 12)
"""Since then `os.fork` warns of threads, where a user's filters could make it an exception."""


class ExperimentFork:
    """A fork that was started; what it says of itself lies in shared memory."""

    def __init__(self) -> None:
        self.shared = mmap.mmap(-1, 8)
        self.until = time.monotonic() + SECONDS

    @property
    def ended(self) -> bool:
        return self.shared[0] == 1

    @property
    def hangs(self) -> bool:
        return not self.ended and time.monotonic() > self.until

    def wait(self) -> None:
        """At the end of the run; the fork is not waited for longer than it would live."""
        until = min(self.until, time.monotonic() + AT_END)
        while not self.ended and time.monotonic() < until:
            time.sleep(0.01)


def why_not() -> str:
    """Why there can be no fork here; empty where there can."""
    torch = readable.torch()
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return "this system has no safe fork"
    if torch.cuda._initialized or any(
        getattr(getattr(torch, name, None), "_initialized", False) for name in ("xpu", "hpu")
    ):
        return "a process that uses an accelerator cannot be forked"
    if threading.current_thread() is not threading.main_thread():
        return "the model is not called in the main thread"
    if "ipykernel" in sys.modules:
        return "a notebook's kernel is not forked"
    return "" if _has_room() else "there is not enough free memory for a fork"


def _has_room() -> bool:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * mmap.PAGESIZE
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024 > ROOM * resident
    except (OSError, ValueError, KeyError, IndexError):
        return False


def start(work: Callable[[], None]) -> ExperimentFork:
    """Runs it in a child of a child, which the system adopts when its own parent ends: nobody has
    to wait for it."""
    fork = ExperimentFork()
    handler = signal.getsignal(signal.SIGCHLD)
    hide = callable(handler) and not _of_torch(handler)
    if hide:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        child = _fork()
        if child == 0:
            _leave_after(fork, work)
        os.waitpid(child, 0)
    except ChildProcessError:
        pass  # another thread has asked for every child
    finally:
        if hide:
            signal.signal(signal.SIGCHLD, handler)
    return fork


def _of_torch(handler: Any) -> bool:
    """The handler of loaders with workers only looks whether one of these is gone."""
    return str(getattr(handler, "__module__", "")).startswith("torch.")


def _fork() -> int:
    if sys.version_info < WARNS_SINCE:
        return os.fork()
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    child = int(ctypes.PyDLL(None).fork())
    if child == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    return child


def _leave_after(fork: ExperimentFork, work: Callable[[], None]) -> None:
    """In the child: nothing of the user's program goes on."""
    finishing._finished_in = os.getpid()
    try:
        if _fork() == 0:
            finishing._finished_in = os.getpid()
            _shut_off()
            work()
            fork.shared[0] = 1
    except BaseException:  # noqa: BLE001 - nobody is there to hear of it
        pass
    finally:
        os._exit(0)


def _shut_off() -> None:
    """Ends by itself after a while; writes nothing but what surefit writes; is not observed."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    gc.disable()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.closerange(3, 65_536)
    os.nice(5)
    now.inside = now.losing = True
    readable.torch().set_num_threads(1)


def writes_nothing() -> None:
    """From now on, in the fork: a file that is opened to be written, a connection, a program is an
    exception."""
    sys.addaudithook(_refuse)


_writing = threading.local()


class allowed:  # noqa: N801 - read as a word: `with allowed():`
    """Inside, surefit writes its own file."""

    def __enter__(self) -> None:
        _writing.now = True

    def __exit__(self, *_: object) -> None:
        _writing.now = False


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if getattr(_writing, "now", False):
        return
    if event == "open":
        mode, flags = args[1], args[2]
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & WRITING:
            raise PermissionError("a fork writes nothing")
    elif event in ("os.remove", "os.rename", "os.mkdir", "socket.connect", "subprocess.Popen"):
        raise PermissionError("a fork writes nothing")
