"""Raw rows of plain text files: one text after the other, each with the line on which it begins."""

import codecs
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path

from surefit.doctor.findings import Place
from surefit.user_files import bounded_lines, open_plain

from .bad_rows import BadRow
from .encoding import decoded, refuse_other_marks
from .raw import RawRow, RawRows

TEXT = "text"
"""The one column that a plain text has."""


def read_text(path: Path, name: str) -> RawRows:
    """Blank lines part the texts; in a file without any, every line is a text."""
    parted = _has_blank_lines(path)
    text: list[str] = []
    begins = 0
    with open_plain(path) as file:
        for number, line in chain(_lines(file, name), [(0, "")]):
            if isinstance(line, BadRow):
                yield line
                continue
            if line.strip():
                begins = begins or number
                text.append(line)
            if text and (not parted or not line.strip()):
                yield RawRow(Place(name, line=begins), {TEXT: "".join(text).rstrip("\r\n")})
                text, begins = [], 0


def _lines(file: BufferedReader, name: str) -> Iterator[tuple[int, str | BadRow]]:
    offset = 0
    for number, line in enumerate(bounded_lines(file), start=1):
        if number == 1:
            refuse_other_marks(line, name)
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        start = offset + len(line) - len(content)
        yield number, decoded(content, Place(name, line=number), start)
        offset += len(line)


def _has_blank_lines(path: Path) -> bool:
    """Between two others, that is: blank ones at the beginning or the end part nothing."""
    with open_plain(path) as file:
        blank = begun = False
        for line in bounded_lines(file):
            if line.strip():
                if begun and blank:
                    return True
                begun, blank = True, False
            else:
                blank = True
    return False
