"""surefit as a fork of this process, which has the libraries imported, and its calls on files."""

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.patience import in_spite_of_others

LONGEST = 180.0
"""Seconds, where nothing else runs; a run that takes longer hangs."""

BROKEN = 70
"""The exit code of a fork in which an exception was not caught."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CALLS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")


@dataclass(frozen=True, slots=True)
class Interruption:
    """What a run does to itself before a call of Python on a file of its folder."""

    folder: Path
    call: int
    """The first is 1."""

    act: Callable[[], None]


def kill_now() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def pause_now() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die_in_a_write(longest: int) -> Callable[[], None]:
    """The kernel ends the run in the midst of the next write, Python's or a library's, that makes
    a file longer than that."""

    def act() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest))

    return act


def limit_files(longest: int, work: Callable[[], int]) -> Callable[[], int]:
    """Writes that would make a file longer fail, as on a full disk."""

    def limited() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest))
        return work()

    return limited


@dataclass(slots=True)
class Child:
    """A run that has begun."""

    process: int
    log: Path
    code: int | None = None
    """As `subprocess` has it: negative for a signal."""

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, longest: float = LONGEST) -> int | None:
        """Until it has ended; None if it hangs, and then it is killed."""
        ends = time.monotonic() + in_spite_of_others(longest)
        while self.code is None and time.monotonic() < ends:
            self._look(os.WNOHANG)
            time.sleep(0.005)
        if self.code is None:
            self.kill()
            return None
        return self.code

    def wait_for_pause(self) -> bool:
        """Whether it paused; False if it ended before."""
        ends = time.monotonic() + in_spite_of_others(LONGEST)
        while self.code is None and time.monotonic() < ends:
            process, status = os.waitpid(self.process, os.WNOHANG | os.WUNTRACED)
            if process and os.WIFSTOPPED(status):
                return True
            if process:
                self.code = os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        return False

    def go_on(self) -> None:
        os.kill(self.process, signal.SIGCONT)

    def kill(self) -> None:
        if self.code is None:
            os.kill(self.process, signal.SIGKILL)
            self._look(0)

    def is_running(self) -> bool:
        self._look(os.WNOHANG)
        return self.code is None

    def _look(self, how: int) -> None:
        if self.code is None:
            process, status = os.waitpid(self.process, how)
            if process:
                self.code = os.waitstatus_to_exitcode(status)


def begin(work: Callable[[], int], log: Path, interruption: Interruption | None = None) -> Child:
    """This work in a fork, whose exit code it gives."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return Child(process, log)
    code = BROKEN
    try:
        with log.open("ab") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        if interruption is not None:
            sys.addaudithook(_counting(interruption))
        code = work()
    except BaseException:  # noqa: BLE001 - nothing of a fork may go back to its parent's code
        traceback.print_exc()
    finally:
        for standard in (sys.stdout, sys.stderr):
            standard.flush()
        os._exit(code)


def load_libraries() -> None:
    """What every run imports, once; nothing of them is called before the forks."""
    import datasets  # noqa: F401
    import peft  # noqa: F401
    import transformers.models.qwen3.modeling_qwen3  # noqa: F401

    import surefit.cli.distill
    import surefit.cli.pretrain
    import surefit.cli.sft
    import surefit.recipes.distill
    import surefit.recipes.pretrain
    import surefit.recipes.sft  # noqa: F401


def surefit(words: Sequence[str]) -> Callable[[], int]:
    """The command, as it is typed."""

    def work() -> int:
        from surefit.cli import main

        return main(list(words))

    return work


def _counting(interruption: Interruption) -> Callable[[str, tuple[Any, ...]], None]:
    left, inside, below = interruption.call, False, f"{interruption.folder}/"

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal left, inside
        if inside or not _changes_files(event, values) or not _path_of(values).startswith(below):
            return
        left -= 1
        if left == 0:
            inside = True
            interruption.act()
            inside = False

    return hook


def _changes_files(event: str, values: tuple[Any, ...]) -> bool:
    if event == "open":
        return isinstance(values[2], int) and bool(values[2] & WRITES)
    return event in CALLS


def _path_of(values: tuple[Any, ...]) -> str:
    """Also of a name beside a descriptor, as `shutil.rmtree` removes."""
    path = values[0]
    if not isinstance(path, str | bytes | os.PathLike):
        return ""
    name = os.fsdecode(path)
    folder = values[-1]
    if not os.path.isabs(name) and isinstance(folder, int) and folder >= 0:  # noqa: PTH117
        return f"{os.readlink(f'/proc/self/fd/{folder}')}/{name}"  # noqa: PTH115
    return name


def count_calls(words: Sequence[str], folder: Path, log: Path) -> int:
    """How often an unbroken run calls on files of its folder."""
    note = log.with_suffix(".calls")

    def counting() -> None:
        below, calls = f"{folder}/", 0

        def hook(event: str, values: tuple[Any, ...]) -> None:
            nonlocal calls
            if _changes_files(event, values) and _path_of(values).startswith(below):
                calls += 1
                os.write(descriptor, b".")

        descriptor = os.open(note, os.O_CREAT | os.O_WRONLY)
        sys.addaudithook(hook)

    def counted() -> int:
        counting()
        return surefit(words)()

    child = begin(counted, log)
    if child.wait() != 0:
        raise RuntimeError(f"an unbroken run fails:\n{child.said}")
    return note.stat().st_size
