"""The values that `backward` was called on: the first, the last, and a sample between."""

import math
from collections import deque

FIRST, LAST, BETWEEN = 64, 64, 256
MOST_IN_PROOF = 10_000
TOGETHER = 128


class LossSeries:
    """Pairs of steps taken before, and value. What is between is thinned out as it grows."""

    def __init__(self, keep_all: bool) -> None:
        self.room = MOST_IN_PROOF if keep_all else FIRST
        self.waiting: list[tuple[int, float]] = []
        self.first: list[tuple[int, float]] = []
        self.between: list[tuple[int, float]] = []
        self.last: deque[tuple[int, float]] = deque()
        self.every = 1
        self.passed = 0
        self.least: float | None = None
        self.greatest: float | None = None
        self.not_finite = 0

    def add(self, step: int, value: float) -> None:
        """In a step; what is to be made of the value can wait."""
        self.waiting.append((step, value))
        if len(self.waiting) >= TOGETHER:
            self.sort_in()

    def sort_in(self) -> None:
        for step, value in self.waiting:
            self._sort_in(step, value)
        self.waiting.clear()

    def _sort_in(self, step: int, value: float) -> None:
        if not math.isfinite(value):
            self.not_finite += 1
        elif self.least is None or self.greatest is None:
            self.least = self.greatest = value
        elif value < self.least:
            self.least = value
        elif value > self.greatest:
            self.greatest = value
        if len(self.first) < self.room:
            self.first.append((step, value))
            return
        self.last.append((step, value))
        if len(self.last) > LAST:
            self._leaves_the_end(self.last.popleft())

    def _leaves_the_end(self, pair: tuple[int, float]) -> None:
        if self.passed % self.every == 0:
            self.between.append(pair)
            if len(self.between) > BETWEEN:
                self.between = self.between[::2]
                self.every *= 2
        self.passed += 1

    def pairs(self) -> tuple[tuple[int, float], ...]:
        self.sort_in()
        return (*self.first, *self.between, *self.last)
