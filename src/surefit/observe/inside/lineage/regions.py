"""Which iterations of a loop, and which calls of a function, are noted.

The body of a loop, of a function and of a comprehension is a region. Wrapped source holds it twice,
noted and as it was written, and asks at each turn which to run. The first turns are noted, then
ever fewer; in a step that is asked about, all. A turn that is not noted runs as fast as ever.
"""

import builtins
import os
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from operator import length_hint
from types import FrameType

NEXT, ALL = "__surefit_next__", "__surefit_all__"
FIRST_TURNS = 300
"""Of each region, all noted."""
FREE_NOTES = 60_000
"""Evaluations of a run that are noted before any turn is left out."""
MOST_OF_A_STEP = 300_000
"""Evaluations of a step that is asked about, after which turns are left out, too."""
FIRST_GAP, LONGEST_GAP = 32, 1024
"""Turns that are left out between two that are noted; twice as many each time."""
TURNS_BEFORE = 2
"""Noted before the turn in which a fault is known to come."""


class Region:
    """The body of a loop, a function, a comprehension or a lambda."""

    def __init__(self, number: int, file: str, line: int, end_line: int, of_call: bool) -> None:
        self.number = number
        self.file = file
        self.line = line
        self.end_line = end_line
        self.of_call = of_call
        """A function: each turn has a frame of its own."""
        self.turns = 0
        """That were noted."""
        self.left_out = 0
        self.gap = FIRST_GAP // 2
        self.until: int | None = None
        """The turn in which a fault comes, where an earlier run told."""
        self.always = False
        """Something in it is asked about."""
        self._waiting: repeat[bool] | None = None
        self._length = 0

    @property
    def flag(self) -> str:
        """Variable of the user's frame: whether this turn is noted."""
        return f"__surefit_dense_{self.number}__"

    @property
    def name(self) -> str:
        """Iterator among the builtins: whether the next turn is noted."""
        return f"__surefit_region_{self.number}__"

    def skipped(self) -> int:
        """Turns that were left out so far."""
        return self.left_out + self._passed()

    def total(self) -> int:
        return self.turns + self.skipped()

    def _passed(self) -> int:
        return self._length - length_hint(self._waiting) if self._waiting is not None else 0

    def turn(self) -> bool:
        """A turn that is noted begins."""
        self._settle()
        self.turns += 1
        if self.until is not None and self.total() >= self.until - TURNS_BEFORE:
            note_everything(True, to_the_end=True)
        elif self._is_long():
            self._leave_out()
        return True

    def _is_long(self) -> bool:
        if self.turns <= FIRST_TURNS or self.always:
            return False
        return notes() > most_notes

    def _leave_out(self) -> None:
        self.gap = min(2 * self.gap, LONGEST_GAP)
        self._length = self.gap
        if self.until is not None:
            self._length = min(self.gap, max(0, self.until - TURNS_BEFORE - self.total() - 1))
        self._waiting = repeat(False, self._length)
        setattr(builtins, self.name, chain(self._waiting, iter(self.turn, None)))

    def _settle(self) -> None:
        self.left_out += self._passed()
        self._waiting = None

    def note_all(self) -> None:
        self._settle()
        setattr(builtins, self.name, iter(self.turn, None))


regions: list[Region] = []
everything: list[bool] = []
"""Not empty: every turn is noted, also of loops inside a turn that is not."""
most_notes: float = FREE_NOTES
_fault: dict[str, int] | None = None


def notes() -> int:
    """Evaluations that were noted; the records set it when they start."""
    return 0


def add(file: str, line: int, end_line: int, of_call: bool) -> Region:
    region = Region(len(regions), file, line, end_line, of_call)
    if _fault is not None and _fault["region"] == region.number:
        region.until = _fault["turn"]
    regions.append(region)
    region.note_all()
    return region


def note_everything(wanted: bool, *, to_the_end: bool = False) -> None:
    """From now on, or until a step has taken too much."""
    global most_notes
    everything[:] = [True] if wanted else []
    if wanted:
        most_notes = float("inf") if to_the_end else max(most_notes, notes() + MOST_OF_A_STEP)
        for region in regions:
            region.note_all()


def note_always(file: str, line: int) -> None:
    """An expression at a line is asked about."""
    for region in regions:
        if region.file == file and region.line <= line <= region.end_line:
            region.always = True


def has_gaps() -> bool:
    return any(region.skipped() for region in regions)


def left_out(frames: Sequence[FrameType]) -> dict[str, int] | None:
    """The outermost turn of these frames that was not noted: its region, and which turn it is."""
    for frame in frames:
        for region in regions:
            here = region.file == os.path.abspath(frame.f_code.co_filename)
            within = here and region.line <= frame.f_lineno <= region.end_line
            if within and not frame.f_locals.get(region.flag, True):
                return {"region": region.number, "turn": region.total()}
    return None


def is_left_out(frame: FrameType) -> bool:
    """A call of a function that was not noted."""
    names = frame.f_code.co_varnames
    flags = (region.flag for region in regions if region.of_call and region.flag in names)
    return any(not frame.f_locals.get(flag, True) for flag in flags)


def install(count: Callable[[], int], fault: dict[str, int] | None = None) -> None:
    """With the turn in which a fault comes, where an earlier run told that."""
    global notes, most_notes, _fault
    notes, most_notes, _fault = count, FREE_NOTES, fault
    everything.clear()
    setattr(builtins, NEXT, next)
    setattr(builtins, ALL, everything)
