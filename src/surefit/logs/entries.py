"""From entries of a log (a dictionary of numbers each) to series."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from surefit.logs.series import Point, Series, words_of

STEPS = {"step", "global_step", "steps", "iter", "iteration", "it", "global"}
EPOCHS = {"epoch", "epochs"}
FEWEST = 2
"""Entries of a series; a number that stands once in a log is no series."""


@dataclass(slots=True)
class LogEntry:
    """Numbers that a log wrote down together."""

    numbers: Mapping[str, float]
    line: int | None = None


@dataclass(slots=True)
class Collected:
    """Series as they grow; the last step and epoch hold until another is named."""

    points: dict[str, list[Point]] = field(default_factory=dict)
    step: int | None = None
    epoch: float | None = None

    def add(self, entry: LogEntry) -> None:
        for name, value in entry.numbers.items():
            if is_step(name) and value.is_integer():
                self.step = int(value)
            elif is_epoch(name):
                self.epoch = value
        for name, value in entry.numbers.items():
            if not is_step(name) and not is_epoch(name):
                point = Point(value, self.step, self.epoch, entry.line)
                self.points.setdefault(name, []).append(point)

    def series(self) -> tuple[Series, ...]:
        return tuple(
            Series(name, tuple(points))
            for name, points in self.points.items()
            if len(points) >= FEWEST
        )


@lru_cache(maxsize=10_000)
def is_step(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words <= STEPS


@lru_cache(maxsize=10_000)
def is_epoch(name: str) -> bool:
    return words_of(name) <= EPOCHS and bool(words_of(name))


def collect(entries: Iterable[LogEntry]) -> tuple[Series, ...]:
    collected = Collected()
    for entry in entries:
        collected.add(entry)
    return collected.series()
