"""The kernel of a notebook, if this process is one, and the cells that it has run."""

import linecache
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNEL = "ZMQInteractiveShell"


@dataclass(frozen=True, slots=True)
class KernelCell:
    """A cell that was run: what IPython made of it, line for line."""

    number: int
    file: str
    """A name that Python has for it, as seen from the current folder; there is no such file."""
    text: str

    @property
    def name(self) -> str:
        """As tracebacks in a notebook have it."""
        return f"In[{self.number}]"


def kernel() -> Any | None:
    """The shell of a notebook; none in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    kinds = type(shell).__mro__ if shell is not None else ()
    return shell if any(kind.__name__ == KERNEL for kind in kinds) else None


def cells() -> list[KernelCell]:
    """All that were run, under their last numbers."""
    compiler = getattr(kernel(), "compile", None)
    numbers: dict[str, int] = getattr(compiler, "_filename_map", None) or {}
    return [
        KernelCell(number, as_seen(file), "".join(linecache.getlines(file)))
        for file, number in numbers.items()
        if file in linecache.cache
    ]


def as_seen(file: str) -> str:
    folder = Path.cwd()
    return os.path.relpath(file, folder) if Path(file).is_relative_to(folder) else file


def read_cell_lines(name: str, first: int, last: int) -> Sequence[str]:
    """Lines of a cell by its name in tracebacks; none where there is no such cell."""
    cell = next((cell for cell in cells() if cell.name == name), None)
    return cell.text.split("\n")[first - 1 : last] if cell is not None else []
