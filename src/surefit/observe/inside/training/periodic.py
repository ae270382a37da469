"""Something to be written down every few seconds, so that a process that is killed leaves it."""

import time
from collections.abc import Callable

from surefit.observe.inside import finishing

SECONDS = 5.0
SHARE = 0.05
"""Of the run so far: a run of hours writes as many lines as one of minutes, and some more."""
COST = 400
"""Times that writing took: it takes a quarter of a percent at most."""

_writers: list[Callable[[], None]] = []
_began = 0.0
due = 0.0
"""The time of day from which `write` is to be called, at an event of training."""


def every_few_seconds(write: Callable[[], None]) -> Callable[[], None]:
    _writers.append(write)
    return write


def write(now: float) -> None:
    """With the time of day; the first time only begins the wait."""
    global _began, due
    cost = 0.0
    if _began:
        before = time.perf_counter()
        for one in _writers:
            one()
        cost = time.perf_counter() - before
    _began = _began or now
    due = now + max(SECONDS, SHARE * (now - _began), COST * cost)


@finishing.after_fork
def forget_parent() -> None:
    global _began, due
    _began = due = 0.0
