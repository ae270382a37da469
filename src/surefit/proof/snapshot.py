"""What a folder held before a run, so that a copy can be as it was then."""

import os
import stat
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 20_000
LONGEST = 2.0
"""Seconds that looking at a folder takes at most: the user's run waits for it."""
TOO_MANY = f"the folder holds more than {MOST_FILES:,} files, the most that a proof copies"
TOO_SLOW = f"the folder could not be looked through in {LONGEST:.0f} s"
MOST_KEPT_FILES = 2_000
MOST_KEPT_BYTES = 16 << 20
DATA_FILES = 10_000
DATA_BYTES = 500_000_000
"""A folder of more than that, without Python in it, is data: a copy has a link to it."""
LARGEST_KEPT = 1 << 20
"""Bytes of a file whose content is kept, so that it can be put back if the run changes it."""

LEFT_OUT = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "site-packages",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".ipynb_checkpoints",
        ".tox",
        ".nox",
    )
)
"""Folders that no training script reads and that a copy does without."""


class CannotTry(Exception):  # noqa: N818 - it reads as what it is
    """Nothing is known about a fix, and why."""

    def __init__(self, reason: str, *, was_run: bool = False) -> None:
        self.reason = reason
        self.was_run = was_run
        super().__init__(self.said)

    @property
    def said(self) -> str:
        how = "tried on a copy, which proves nothing" if self.was_run else "not tried"
        return f"{how}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FileThen:
    """A file as it was."""

    size: int
    changed: int
    """When, in nanoseconds."""
    content: bytes | None = None

    def is_still(self, now: os.stat_result) -> bool:
        return (self.size, self.changed) == (now.st_size, now.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Names, sizes and times of a folder's files, with the content of small ones."""

    folder: Path
    files: dict[Path, FileThen] = field(default_factory=dict)
    folders: frozenset[Path] = frozenset()
    data: frozenset[Path] = frozenset()
    """Large folders below it that are linked, not copied; what is in them is not in `files`."""
    taken: int = 0
    """When, in nanoseconds since 1970."""
    why_not_whole: str = ""
    """Where there was more in it than a copy could hold, or than could be looked at in time."""


def snapshot(folder: Path) -> Snapshot:
    """Takes milliseconds in most folders, and never much longer than `LONGEST`."""
    folder, taken, began = folder.resolve(), time.time_ns(), time.monotonic()
    files: dict[Path, FileThen] = {}
    folders: set[Path] = set()
    kept = kept_bytes = 0
    data = frozenset(data_below(folder))
    for found in walk(folder, data):
        if found.is_folder:
            folders.add(found.path)
            continue
        why_not = TOO_MANY if len(files) >= MOST_FILES else ""
        if why_not or time.monotonic() - began > LONGEST:
            return Snapshot(folder, taken=taken, why_not_whole=why_not or TOO_SLOW)
        size = found.now.st_size
        keep = size <= LARGEST_KEPT and kept_bytes + size <= MOST_KEPT_BYTES
        content = content_of(found.path) if keep and kept < MOST_KEPT_FILES else None
        kept, kept_bytes = kept + 1, kept_bytes + len(content or b"")
        files[found.path] = FileThen(size, found.now.st_mtime_ns, content)
    return Snapshot(folder, files, frozenset(folders), data, taken)


def data_below(folder: Path) -> Iterator[Path]:
    """The outermost folders of data."""
    try:
        inside = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in inside:
        path = Path(entry.path)
        if is_left_out(path):
            continue
        count = bytes_ = 0
        for found in walk(path):
            if found.path.suffix == ".py":
                yield from data_below(path)
                break
            count, bytes_ = count + 1, bytes_ + found.now.st_size
            if count > DATA_FILES or bytes_ > DATA_BYTES:
                yield path
                break


def content_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """A file or a folder, links followed, and how it is now."""

    path: Path
    is_folder: bool
    now: os.stat_result


def walk(folder: Path, passed_over: Container[Path] = frozenset()) -> Iterator[Found]:
    """Regular files, links to such, folders and links to folders, which are not entered; without
    what a copy leaves out. Folders come before what is in them."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            found = Found(Path(entry.path), entry.is_dir(), entry.stat())
        except OSError:  # a link to nowhere
            continue
        if found.is_folder:
            if is_left_out(found.path) or found.path in passed_over:
                continue
            yield found
            if not entry.is_symlink():
                yield from walk(found.path, passed_over)
        elif stat.S_ISREG(found.now.st_mode):
            yield found


def is_left_out(folder: Path) -> bool:
    """Version control, caches and virtual environments, whatever their name."""
    return folder.name in LEFT_OUT or (folder / "pyvenv.cfg").is_file()
