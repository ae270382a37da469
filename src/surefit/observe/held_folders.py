"""Temporary folders that are removed at the latest when surefit starts again after a kill."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PREFIX = "surefit-"
HELD = ".held"
"""A file in each, locked as long as its owner lives."""


@contextmanager
def held_folder(name: str = "") -> Iterator[Path]:
    """A new temporary folder, removed at the end; before it, those whose owners have died."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX + name)).resolve()
    lock = os.open(folder / HELD, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        remove(folder)
        os.close(lock)


def sweep() -> None:
    """What killed processes of this user left behind."""
    for held in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{HELD}"):
        with suppress(OSError):  # another's, or just being removed
            lock = os.open(held, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(held.parent)
            finally:
                os.close(lock)


def remove(folder: Path) -> None:
    """Also where a script has taken away its own right to write."""
    shutil.rmtree(folder, onerror=made_writable)


def made_writable(work: Callable[..., Any], path: str, _: object) -> None:
    with suppress(OSError):
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.chmod(path, stat.S_IRWXU)
        work(path)
