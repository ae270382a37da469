"""The part of a line that a finding is about: the mark under it, and the columns of its place."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from surefit.doctor.findings import Finding, Place
from surefit.source.kernel import read_cell_lines
from surefit.user_files import bounded_lines, open_plain

from .visible import visible

CODE = {".py", ".ipynb", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".sh"}
"""Files of which the whole line is meant when nothing in it is named."""
CELL = re.compile(r"In\[\d+\]")
"""A cell of the notebook that this process runs."""

ReadSource = Callable[[str, int, int], Sequence[str]]
"""File, first and last line (from 1) -> those lines, or none where the file has no such text."""


def read_lines(file: str, first: int, last: int) -> list[str]:
    """Lines of a text file; bytes that are not UTF-8 are escaped, and binary files have none."""
    try:
        with open_plain(Path(file)) as opened:
            raw = list(islice(bounded_lines(opened), first - 1, last))
    except (OSError, ValueError):
        return []
    if any(b"\0" in bytes_ for bytes_ in raw):
        return []
    return [bytes_.decode("utf-8", "backslashreplace").rstrip("\r\n") for bytes_ in raw]


def read_source(file: str, first: int, last: int) -> Sequence[str]:
    """Of a file, or of a cell of the notebook that this process runs."""
    return read_cell_lines(file, first, last) or read_lines(file, first, last)


def with_columns(finding: Finding, read_source: ReadSource = read_lines) -> Finding:
    """The columns that are marked, where the place is in code that can be read."""
    place = finding.place
    if place.column is not None or place.line is None or place.line < 1 or not is_code(place):
        return finding
    lines = place_lines(place, place.line, max(place.end_line or 0, place.line), read_source)
    if not lines or not lines[0].strip():
        return finding
    if len(lines) > 1:
        begin, end = len(lines[0]) - len(lines[0].lstrip()), len(lines[-1].rstrip())
    else:
        begin, end = marked(lines[0], named_in(finding.headline), True) or (0, len(lines[0]))
    return replace(finding, place=replace(place, column=begin + 1, end_column=end + 1))


def is_code(place: Place) -> bool:
    return Path(place.file).suffix.lower() in CODE or bool(CELL.fullmatch(place.file))


def named_in(headline: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", headline)


def place_lines(place: Place, first: int, last: int, read_source: ReadSource) -> Sequence[str]:
    if place.cell is None:
        return read_source(place.file, first, last)
    from surefit.source.notebooks import read_cell  # few findings are about notebooks

    return read_cell(place.file, place.cell, first, last)


def marked(whole: str, named: Sequence[str], is_code: bool) -> tuple[int, int] | None:
    """Where the first of the named texts stands in a line; in code the line stands for itself."""
    for name in named:
        at = re.search(rf"(?<!\w){re.escape(visible(name))}(?!\w)", whole)
        if at:
            return whole_call(whole, *at.span()) if is_code else at.span()
    stripped = whole.strip()
    if not is_code or not stripped:
        return None
    begin = whole.index(stripped)
    return begin, begin + len(stripped)


def whole_call(whole: str, begin: int, end: int) -> tuple[int, int]:
    """The span of a name with what it is an attribute of, and with what it is called on."""
    begin -= len(re.findall(r"[\w.]*$", whole[:begin])[0])
    depth = 0
    for at, character in enumerate(whole[end:], start=end):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return begin, at + 1 if character == ")" and at > end else end
    return begin, end
