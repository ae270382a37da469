"""A folder for what a run needs only while it lasts."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PREFIX = "surefit-work-"
IN_USE = "in-use"
"""A file that its process holds locked; the system lets go of it however the process ends."""

YOUNG = 60.0
"""Seconds in which a folder has been made and not yet locked, at most."""


@contextmanager
def working_folder() -> Iterator[Path]:
    """Removed on success, on an error and on Ctrl-C, with those that killed processes left.

    It lies where the system keeps such folders; `TMPDIR` names another place.
    """
    _remove_forgotten(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with (folder / IN_USE).open("w") as mark:
            _lock(mark)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_forgotten(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime < YOUNG:
                continue
            with (folder / IN_USE).open("r+") as mark:
                if _lock(mark):
                    shutil.rmtree(folder, ignore_errors=True)


def _lock(mark: IO[str]) -> bool:
    """Whether no other process had it locked; False where files cannot be locked."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
