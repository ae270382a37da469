"""How much time looking at values is allowed to take: a share of the run, and a little to begin."""

import time

from surefit.observe.inside import finishing, spool

LONGEST = 5.0
"""Seconds for which it is not asked: a clock can be set back."""

_all: list["Budget"] = []


class Budget:
    """Each kind of event has its own, so that frequent ones do not starve rare ones.

    `with budget:` counts the CPU time of what is done inside, so that other programs on the machine
    change nothing. In a proof there is no limit. What happens in every step asks
    `noted.now >= budget.due and budget.allows()`.
    """

    __slots__ = ("begun", "due", "entered", "opening", "share", "spent", "unlimited")

    def __init__(self, share: float, opening: float) -> None:
        self.share = share
        self.opening = opening
        self.begin()
        _all.append(self)

    def begin(self) -> None:
        self.unlimited = spool.in_proof()
        self.begun = 0.0
        self.due = 0.0
        """The time of day before which it allows nothing."""
        self.entered = 0.0
        self.spent = 0.0

    def allows(self, cost: float = 0.0) -> bool:
        """Something that takes about so many seconds; the run begins with the first question."""
        if self.unlimited:
            return True
        now = time.perf_counter()
        if not self.begun:
            self.begun = now
        left = self.share * (now - self.begun) + self.opening - self.spent
        if left <= 0.0 < self.share:
            self.due = time.time() + min(-left / self.share, LONGEST)
        return cost < left

    def __enter__(self) -> None:
        self.entered = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.spent += time.thread_time() - self.entered


def spent() -> float:
    """Seconds, over all budgets."""
    return sum(budget.spent for budget in _all)


def limit() -> None:
    """A proof has what it was made for: what it still looks at is held to a share again."""
    for budget in _all:
        budget.unlimited = False


@finishing.after_fork
def forget_parent() -> None:
    for budget in _all:
        budget.begin()
