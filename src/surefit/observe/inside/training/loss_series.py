"""The values that `backward` was called on: the first, the last, and a sample between."""

import math

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
        self.last: list[tuple[int, float]] = []
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
        pairs, self.waiting = self.waiting, []
        finite = [value for _, value in pairs if math.isfinite(value)]
        self.not_finite += len(pairs) - len(finite)
        if finite:
            self.least = min(finite if self.least is None else (self.least, *finite))
            self.greatest = max(finite if self.greatest is None else (self.greatest, *finite))
        room = self.room - len(self.first)
        self.first += pairs[:room]
        self.last += pairs[room:]
        leaving = len(self.last) - LAST
        for pair in self.last[: max(0, leaving)][-self.passed % self.every :: self.every]:
            self.between.append(pair)
        self.last = self.last[-LAST:]
        self.passed += max(0, leaving)
        while len(self.between) > BETWEEN:
            self.between = self.between[::2]
            self.every *= 2

    def pairs(self) -> tuple[tuple[int, float], ...]:
        self.sort_in()
        return (*self.first, *self.between, *self.last)
