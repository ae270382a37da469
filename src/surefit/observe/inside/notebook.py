"""A notebook run as a script: its cells joined, and Python's own words told by cell and line."""

import linecache
import os
import sys
import traceback
import warnings
from functools import cache
from types import TracebackType
from typing import Any

from surefit.source.notebooks import Notebook, is_notebook, read_notebook

__all__ = ["is_notebook", "names", "script_of", "show"]

_known: dict[str, Notebook] = {}
"""By the file's name, as code objects have it."""


def script_of(file: str, raw: bytes) -> bytes:
    """The script that is run; from now on its lines, and those of its cells, can be shown."""
    found = read_notebook(raw)
    for name in (file, os.path.abspath(file)):
        _known[name] = found
        _remember(name, found.text.splitlines(keepends=True))
        for cell in found.cells:
            _remember(_cell_name(name, cell.number), [f"{line}\n" for line in cell.written])
    _tell_warnings_by_cell()
    return found.text.encode()


def _remember(name: str, lines: list[str]) -> None:
    """Without a time of change, `linecache` never looks whether the file is another."""
    linecache.cache[name] = sum(map(len, lines)), None, lines, name


def _cell_name(file: str, cell: int) -> str:
    return f"{file}, cell {cell}"


def _placed(file: str | None, line: int | None) -> tuple[str, int] | None:
    found = _known.get(file or "")
    if found is None or line is None:
        return None
    cell, inside = found.place(line)
    return _cell_name(file or "", cell), inside


def show(error: BaseException, frames: TracebackType | None) -> None:
    """As Python's own hook does it."""
    told = traceback.TracebackException(
        type(error), error, frames, lookup_lines=False, compact=True
    )
    by_cell(told)
    for line in told.format():
        print(line, file=sys.stderr, end="")


def by_cell(told: traceback.TracebackException | None) -> None:
    while told is not None:
        for frame in told.stack:
            if placed := _placed(frame.filename, frame.lineno):
                moved = (frame.lineno or 0) - placed[1]
                frame.filename, frame.lineno = placed
                end = getattr(frame, "end_lineno", None)
                if end is not None:
                    frame.end_lineno = end - moved
        for one in getattr(told, "exceptions", None) or ():
            by_cell(one)
        by_cell(told.__cause__)
        told = told.__context__


@cache
def _tell_warnings_by_cell() -> None:
    plain = warnings.formatwarning

    def formatwarning(
        message: Any, category: Any, filename: str, lineno: int, line: str | None = None
    ) -> str:
        name, number = _placed(filename, lineno) or (filename, lineno)
        return plain(message, category, name, number, line)

    warnings.formatwarning = formatwarning


class Shell:
    """Stands for IPython where a cell asks for it: whatever it is told to do, it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: None


def names() -> dict[str, Any]:
    """What every cell can call without importing it."""
    shell = Shell()
    return {"display": print, "get_ipython": lambda: shell}
