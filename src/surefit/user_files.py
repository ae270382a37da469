"""Files of the user's, opened: what is no plain file is refused, and so is what is too large.

A FIFO keeps its reader waiting forever, and a device never ends. Each refusal is an `OSError`, so
that whoever tells of a file that cannot be read tells of these, too.
"""

import os
import stat
from collections.abc import Iterator
from errno import EFBIG, EINVAL
from io import BufferedReader
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a FIFO (a named pipe)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
KERNEL = ("/proc/", "/sys/")
"""Plain files without a size, of which some keep their reader waiting."""

MOST_ENTRIES = 100_000
"""Files of a folder that are looked at before a library opens it."""

LONGEST_LINE = 1 << 27
"""Bytes of a row that is a line; a file without line ends would be read into memory as one."""


class NotAPlainFile(OSError):  # noqa: N818 - it says what is there
    """What a path leads to is there, and is no file with a beginning and an end."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(EINVAL, f"it is {kind}, not a plain file", str(path))


class FileTooLarge(OSError):  # noqa: N818
    """A file, or a part of it, has more bytes than are read into memory at once."""

    def __init__(self, path: Path, what: str, most: int) -> None:
        super().__init__(EFBIG, f"{what}; at most {most:,} bytes are read at once", str(path))


def look_at(path: Path) -> os.stat_result:
    """What the system says of a path, links followed; raises `NotAPlainFile` for all but plain
    files and folders."""
    found = path.stat()
    kind = KINDS.get(stat.S_IFMT(found.st_mode))
    if kind is None and not found.st_size and str(path.resolve()).startswith(KERNEL):
        kind = "made by the kernel while it is read"
    if kind is not None:
        raise NotAPlainFile(path, kind)
    return found


def look_into(folder: Path) -> None:
    """The same for every file below a folder that a library is to open by itself."""
    looked_at = 0
    for root, _, files in os.walk(folder):
        for name in files:
            path = Path(root, name)
            if path.exists():  # a link to nothing opens at once, and fails
                look_at(path)
            looked_at += 1
            if looked_at >= MOST_ENTRIES:
                return


def open_plain(path: Path) -> BufferedReader:
    """For reading, as bytes."""
    look_at(path)
    return path.open("rb")


def read_plain(path: Path, most: int) -> bytes:
    """The whole content, of at most so many bytes."""
    size = look_at(path).st_size
    if size > most:
        raise FileTooLarge(path, f"it has {size:,} bytes", most)
    with path.open("rb") as file:
        return file.read(size)  # what is written to it meanwhile is for the next reading


def bounded_lines(file: BufferedReader, most: int = LONGEST_LINE) -> Iterator[bytes]:
    """Lines with their ends, as a file gives them, none of them longer than so many bytes."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise FileTooLarge(Path(file.name), f"line {number} is longer", most)
        yield line
