"""A run folder is written by one run at a time."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.writing import writing

IN_USE = refusal("SF169", "run-in-use", "Another process is training in the same run folder.")

GONE = refusal("SF179", "run-folder-gone", "The folder of a run was removed while it lasted.")

_held: dict[Path, int] = {}
"""Run folders that this process trains in, each with the descriptor that locks it."""


@contextmanager
def sole_run(path: Path) -> Iterator[None]:
    """Lets other processes have the folder at the end; the system does it for a process that dies.

    The folder is taken inside, by `hold`, once there is one. Says in a finding that it was removed,
    or closed, since.
    """
    try:
        with _saying_why(path):
            yield
    finally:
        descriptor = _held.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def _saying_why(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        check_there(path, error)
        if isinstance(error, OSError) and _is_below(path, error):
            with writing(path):
                raise
        raise


def _is_below(path: Path, error: OSError) -> bool:
    """`shutil.rmtree` names files without their folder; no read ever fails with `EROFS`."""
    name = str(error.filename)
    return name.startswith(f"{path}{os.sep}") or (error.errno == errno.EROFS and os.sep not in name)


def check_there(path: Path, error: Exception | None = None) -> None:
    """Raises `BadInput` if this process trains in a folder that was removed, and has failed so."""
    if path in _held and not (path / "settings.json").exists():
        raise BadInput(_gone(path, error)) from error


def hold(path: Path) -> None:
    """Raises `BadInput` if another process trains in this folder; this process may already.

    Where folders cannot be locked (Windows, some network file systems), it does nothing.
    """
    if path in _held:
        return
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        finding = _in_use(path, _holder(descriptor))
        os.close(descriptor)
        raise BadInput(finding) from None
    except OSError:
        os.close(descriptor)
        return
    _held[path] = descriptor


def _holder(descriptor: int) -> str:
    """The number of the process that has it locked, as far as the kernel says."""
    folder = os.fstat(descriptor)
    where = f"{os.major(folder.st_dev):02x}:{os.minor(folder.st_dev):02x}:{folder.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[1] == "FLOCK" and where in words:
                return words[4]
    return ""


def _gone(path: Path, error: Exception | None) -> Finding:
    return GONE.finding(
        Place(str(path)),
        f"`{path}` was removed while the run was writing it; the run has stopped.",
        why="Its settings, metrics and checkpoints are lost, so the run cannot be resumed.",
        fixes=[Fix("Restore the folder and resume, or start a new run.")],
        python_said=f"{type(error).__name__}: {error}".splitlines()[0] if error else "",
    )


def _in_use(path: Path, process: str) -> Finding:
    return IN_USE.finding(
        Place(str(path)),
        f"Another process is training in `{path}`; nothing was changed.",
        facts=[Fact("process", process)] if process else [],
        why="Two runs in one folder would overwrite each other's metrics and checkpoints.",
        fixes=[
            Fix("Wait until it ends, or stop it, then resume."),
            Fix("Or start a new run with `--out`."),
        ],
    )
