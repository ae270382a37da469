"""The stacks of processes that stand still or die, printed by Python's own fault handler.

Nothing of Python runs in the process for it, so it works inside a call that never returns, and in
compiled code that has just been ended by SIGSEGV, SIGBUS, SIGABRT, SIGFPE or SIGILL.
"""

import faulthandler
import os
import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from surefit.doctor.findings import Place
from surefit.observe.inside import finishing, own_code, spool

WANTED = "SUREFIT_STACKS"
"""Environment: this run may be asked for its stacks."""
SIGNAL = getattr(signal, "SIGRTMIN", 0) + 9
PATIENCE = 3.0
STOOD, DEATH = ".stacks", ".fault"
"""Ends of the names of files in the spool."""

_open: list[int] = []
_mine = False
"""Nobody else had switched the fault handler on: it prints into a file, not to stderr."""


def install() -> None:
    global _mine
    _mine = not faulthandler.is_enabled()
    _listen()
    finishing.after_fork(_listen)


def _listen() -> None:
    """A file of its own for each process; a forked one has its parent's open."""
    folder = spool.folder()
    if folder is None:
        return
    while _open:
        os.close(_open.pop())
    if _mine:
        faulthandler.enable(_file(folder, DEATH), all_threads=True)
    if os.environ.get(WANTED) and hasattr(faulthandler, "register"):
        faulthandler.register(SIGNAL, _file(folder, STOOD), all_threads=True, chain=False)


def _file(folder: Path, kind: str) -> int:
    found = os.open(folder / f"{os.getpid()}{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    _open.append(found)
    return found


def of_the_dead(folder: Path, pid: int) -> dict[str, str]:
    """The stack that a process left when a signal ended it, if it left one."""
    try:
        text = (folder / f"{pid}{DEATH}").read_text(errors="replace")
    except OSError:
        return {}
    return {f"process {pid}": text} if "File " in text else {}


def collect(folder: Path, pids: Sequence[int]) -> dict[str, str]:
    """Asks every process for its stacks and waits a moment for them."""
    asked = [pid for pid in pids if (folder / f"{pid}{STOOD}").exists()]
    for pid in asked:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, SIGNAL)
    ends = time.monotonic() + PATIENCE
    files = {f"process {pid}": folder / f"{pid}{STOOD}" for pid in asked}
    while time.monotonic() < ends and not all(file.stat().st_size for file in files.values()):
        time.sleep(0.05)
    time.sleep(0.1)
    return {name: file.read_text(errors="replace") for name, file in files.items()}


def own_place(stacks: dict[str, str]) -> Place | None:
    """The innermost own line of the first stack that has one, main threads first."""
    for text in stacks.values():
        for block in reversed(text.split("\n\n")):
            for file, line in re.findall(r'File "([^"]+)", line (\d+)', block):
                if own_code.is_own(file):
                    return Place(file, int(line))
    return None
