"""A notebook as one script: its cells joined, every line led back to its cell, and written again.

Cells are counted as `In [n]` would after running all from the start: those with code in them.
The standard library reads it; Jupyter is not needed.
"""

import json
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from surefit.source.magics import LeftOut, Plain, without_magics
from surefit.source.patches import Edit, difference, patched
from surefit.user_files import read_plain

SUFFIX = ".ipynb"
LARGEST_NOTEBOOK = 1 << 28
"""Bytes, pictures in its outputs included."""
INDENTS: tuple[int | None, ...] = (1, 2, 4, None)
Json = dict[str, Any]


class NotANotebook(ValueError):  # noqa: N818 - it reads as what it is
    """A file that cannot be read as a notebook of Python, and why."""


class NoPython(NotANotebook):
    """A notebook, but one of another language, or without any code."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with code in it."""

    number: int
    at: int
    """Its place among all cells of the document, from 0."""
    written: tuple[str, ...]
    plain: Plain

    @property
    def text(self) -> str:
        return "\n".join(self.written)


@dataclass(frozen=True)
class Notebook:
    """Its cells, and the document that they stand in."""

    raw: str
    cells: tuple[Cell, ...]

    @cached_property
    def headers(self) -> tuple[str, ...]:
        return tuple(f"# %% cell {one.number} of {len(self.cells)}" for one in self.cells)

    @cached_property
    def text(self) -> str:
        """The script: a comment before each cell, and the cell as Python."""
        lines = (
            line
            for header, one in zip(self.headers, self.cells, strict=True)
            for line in (header, *one.plain.lines)
        )
        return "".join(f"{line}\n" for line in lines)

    @cached_property
    def begins(self) -> list[int]:
        """Lines of the script on which the headers stand."""
        found, at = [], 1
        for one in self.cells:
            found.append(at)
            at += len(one.plain.lines) + 1
        return found

    def place(self, line: int) -> tuple[int, int]:
        """Cell and line in it, of a line of the script; a header is the line after it."""
        at = max(0, bisect_right(self.begins, line) - 1)
        return self.cells[at].number, max(1, line - self.begins[at])

    @property
    def left_out(self) -> tuple[tuple[int, LeftOut], ...]:
        """Lines that are not run, each with its cell."""
        return tuple((cell.number, one) for cell in self.cells for one in cell.plain.left_out)

    def cells_after(self, edit: Edit) -> tuple[str, ...]:
        """Each cell's text after an edit of the script; `ValueError` where it spans two of them."""
        lines = patched(edit, self.text).split("\n")
        begins = [at for at, line in enumerate(lines) if line in self.headers]
        if tuple(lines[at] for at in begins) != self.headers or begins[:1] != [0]:
            raise ValueError("the edit reaches over the end of a cell")
        ends = [*begins[1:], len(lines) - 1]
        parts = (lines[begin + 1 : end] for begin, end in zip(begins, ends, strict=True))
        return tuple(
            "\n".join(as_written(part, one)) for part, one in zip(parts, self.cells, strict=True)
        )

    def after(self, edit: Edit) -> bytes:
        """The file with these cells; all else of it as it was, to the byte where its form is one
        that is known."""
        document: Json = json.loads(self.raw)
        for one, text in zip(self.cells, self.cells_after(edit), strict=True):
            if text != one.text:
                cell = document["cells"][one.at]
                whole = isinstance(cell["source"], str)
                cell["source"] = text if whole else text.splitlines(keepends=True)
        return in_form_of(self.raw, document).encode()

    def as_diff(self, edit: Edit) -> str:
        """Against the file, so that `git apply` takes it."""
        return difference(edit.file, self.raw, self.after(edit).decode())

    def shown_diff(self, edit: Edit) -> str:
        """Against each cell, for people."""
        return "".join(
            difference(f"{edit.file}, cell {one.number}", one.text + "\n", text + "\n")
            for one, text in zip(self.cells, self.cells_after(edit), strict=True)
            if text != one.text
        )


def as_written(lines: list[str], cell: Cell) -> list[str]:
    """Magics stand again where they were taken out."""
    back = {
        plain: written
        for plain, written in zip(cell.plain.lines, cell.written, strict=True)
        if plain != written
    }
    return [back.get(line, line) for line in lines]


def in_form_of(raw: str, document: Json) -> str:
    """Written as the file is: in one of the forms that editors use; else in Jupyter's own."""
    before = json.loads(raw)
    for indent in INDENTS:
        for as_ascii in (False, True):
            for end in ("\n", ""):
                if written(before, indent, as_ascii, end) == raw:
                    return written(document, indent, as_ascii, end)
    return written(document, 1, False, "\n")


def written(document: Json, indent: int | None, as_ascii: bool, end: str) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=as_ascii) + end


def is_notebook(file: str | Path) -> bool:
    return str(file).lower().endswith(SUFFIX)


def read_notebook(raw: bytes) -> Notebook:
    """Raises `NotANotebook` with the reason."""
    try:
        text = raw.decode("utf-8")
        document = json.loads(text)
    except UnicodeDecodeError as error:
        raise NotANotebook(f"it is not UTF-8: {error}") from error
    except (ValueError, RecursionError) as error:
        raise NotANotebook(f"it is not JSON: {error}") from error
    return Notebook(text, cells_of(document))


def errors_left(raw: str) -> str:
    """Tracebacks among the outputs of cells, as text."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise NotANotebook(f"it is not JSON: {error}") from error
    cells = document.get("cells") if isinstance(document, dict) else None
    outputs = (
        output
        for cell in cells or ()
        if isinstance(cell, dict)
        for output in cell.get("outputs") or ()
        if isinstance(output, dict) and output.get("output_type") == "error"
    )
    return "\n\n".join("\n".join(map(str, one.get("traceback") or ())) for one in outputs)


def cells_of(document: object) -> tuple[Cell, ...]:
    if not isinstance(document, dict) or "nbformat" not in document:
        raise NotANotebook("it is JSON, but no notebook: it has no `nbformat`")
    if not isinstance(document.get("cells"), list):
        raise NotANotebook(f"its `nbformat` is {document['nbformat']}; 4 and later have `cells`")
    language = language_of(document.get("metadata"))
    if language and not language.lower().startswith(("python", "ipython")):
        raise NoPython(f"its language is {language}")
    found: list[Cell] = []
    for at, raw in enumerate(document["cells"]):
        text = source_of(raw)
        if text.strip():
            lines = tuple(text.split("\n"))
            found.append(Cell(len(found) + 1, at, lines, without_magics(lines)))
    if not found:
        raise NoPython("it has no cell with code in it")
    return tuple(found)


def language_of(metadata: object) -> str:
    about = metadata if isinstance(metadata, dict) else {}
    for part, key in (("kernelspec", "language"), ("language_info", "name")):
        value = about.get(part)
        if isinstance(value, dict) and isinstance(value.get(key), str):
            return str(value[key])
    return ""


def source_of(cell: object) -> str:
    """The text of a cell with code; nothing of others."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return ""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise NotANotebook("the source of a cell is no text")
    return "".join(lines).replace("\r\n", "\n")


def read_cell(file: str, cell: int, first: int, last: int) -> list[str]:
    """Lines of a cell as it is written; none where there is no such file or cell any more."""
    try:
        cells = read_notebook(read_plain(Path(file), LARGEST_NOTEBOOK)).cells
    except (OSError, ValueError):
        return []
    return list(cells[cell - 1].written[first - 1 : last]) if 0 < cell <= len(cells) else []
