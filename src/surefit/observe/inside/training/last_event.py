"""The last event of training in a process, in a few shared bytes that outlive it.

The process writes `<spool>/<pid>.last` at every event; its parent reads it, also after SIGKILL.
"""

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from surefit.observe.inside import spool

PLACES = struct.Struct("=5d")
"""Events, steps, time, letter, under way. Numbers of one kind, so that each is stored alone."""

WORDS = {
    "T": "a forward pass in training mode",
    "t": "a forward pass in training mode, without gradients",
    "E": "a forward pass in evaluation mode, with gradients",
    "e": "a forward pass in evaluation mode",
    "B": "a backward pass",
    "Z": "clearing the gradients",
    "C": "clipping the gradients",
    "U": "unscaling the gradients",
    "A": "the gradient scaler's step",
    "X": "a step that the gradient scaler left out",
    "S": "an optimizer's step",
}


@dataclass(frozen=True, slots=True)
class LastEvent:
    """What a process was last seen doing."""

    events: int
    """Over its whole life."""
    steps: int
    """Optimizer steps that were completed."""
    at: float
    """Seconds since 1970."""
    letter: str
    under_way: bool
    """It had begun and not ended."""

    def in_words(self) -> str:
        when = "during" if self.under_way else "after"
        count = f"{self.steps} optimizer step" + ("" if self.steps == 1 else "s")
        return f"{when} {WORDS.get(self.letter, 'its start')}, with {count} completed"


def read_last(path: Path) -> LastEvent | None:
    """None where the process has not trained, or nothing can be read."""
    try:
        raw = path.read_bytes()
        events, steps, at, letter, under_way = PLACES.unpack_from(raw)
        return LastEvent(int(events), int(steps), at, chr(int(letter)), bool(under_way))
    except (OSError, struct.error, ValueError, OverflowError):
        return None


def shared() -> "memoryview[float]":
    """Five numbers that this process shares with its parent; without a spool, with nobody."""
    where = spool.folder()
    try:
        if where is None:
            return _alone()
        with (where / f"{os.getpid()}.last").open("wb+") as file:
            file.truncate(PLACES.size)
            return memoryview(mmap.mmap(file.fileno(), PLACES.size)).cast("d")
    except (OSError, ValueError):  # a full disk, or a folder without shared maps: nobody can look
        return _alone()


def _alone() -> "memoryview[float]":
    return memoryview(bytearray(PLACES.size)).cast("d")
