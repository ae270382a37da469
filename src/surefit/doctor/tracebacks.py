"""A traceback as it was pasted: what Python said and on which lines, without a single value."""

import re
from dataclasses import dataclass

LIBRARIES = re.compile(
    r"(site-packages|dist-packages|lib(64)?/python\d[\d.]*|Lib)/|^<frozen |^<__array"
)
"""Paths of installed packages and of the standard library, wherever they are installed."""
INSTALLED = re.compile(r"^.*[/\\](?:site|dist)-packages[/\\]")
CELL = re.compile(
    r"^<ipython-input-(\d+)-|^(?:Cell )?In(?:put)? ?(?:In )?\[(\d+)\]|/ipykernel_\d+/"
)


@dataclass(frozen=True, slots=True)
class TracebackFrame:
    """One call, as the text shows it."""

    file: str
    line: int | None
    function: str = ""
    source: str = ""

    @property
    def own(self) -> bool:
        """The user's own code, going by its path."""
        path = self.file.replace("\\", "/")
        if LIBRARIES.search(path):
            return False
        return self.is_cell or not path.startswith("<")

    @property
    def is_cell(self) -> bool:
        """It stands in a notebook's cell; its file is how IPython names that."""
        return CELL.search(self.file) is not None

    @property
    def cell(self) -> int | None:
        """The number of the cell, where its name has one."""
        named = CELL.search(self.file)
        numbers = [
            int(part) for part in (named.groups() if named else ()) if part and len(part) < 9
        ]
        return numbers[0] if numbers else None

    def __str__(self) -> str:
        if self.is_cell:
            place = "a cell" if self.cell is None else f"cell {self.cell}"
            place += f", line {self.line}" if self.line else ""
        else:
            name = INSTALLED.sub("", self.file)
            place = name if self.line is None else f"{name}:{self.line}"
        return f"{place} in {self.function}" if self.function else place


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, and the frames that it went through, the outermost first."""

    said: str
    """Kind and message, as in the last line of a traceback."""
    frames: tuple[TracebackFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class Traceback:
    """Exceptions of one chain, the first one first; a worker's stands before the one that passed it
    on."""

    chain: tuple[Raised, ...]
    others: int = 0
    """Further tracebacks of the same text: other ranks, or what followed from the first."""

    @property
    def said(self) -> str:
        return self.chain[0].said

    @property
    def kind(self) -> str:
        return self.said.partition(":")[0].strip()

    @property
    def frames(self) -> tuple[TracebackFrame, ...]:
        """Of the whole chain: those of the last one lead to the first."""
        return tuple(frame for one in reversed(self.chain) for frame in one.frames)

    @property
    def own_frame(self) -> TracebackFrame | None:
        """The innermost one of the user's, in the first exception that has any."""
        for one in self.chain:
            for frame in reversed(one.frames):
                if frame.own:
                    return frame
        return None

    @property
    def script(self) -> TracebackFrame | None:
        """What was started: the outermost frame of the user's own code."""
        return next((frame for frame in self.frames if frame.own), None)
