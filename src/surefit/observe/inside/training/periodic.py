"""Something to be written down every few seconds, so that a process that is killed leaves it."""

import time
from collections.abc import Callable

from surefit.observe.inside import finishing

SECONDS = 5.0
SHARE = 0.05
"""Of the run so far: a run of hours writes as many lines as one of minutes, and some more."""
COST = 400
"""Times that writing took: it takes a quarter of a percent at most."""

STEPS = frozenset((1, 10, 100))
"""Optimizer steps after which it is written in any case."""
EARLY_SECONDS, EARLY_SHARE = 0.5, 0.01
"""As above, where an evaluation or an epoch has come to its end."""

_writers: list[Callable[[], None]] = []
_began = 0.0
_not_before = 0.0
due = 0.0
"""The time of day from which `write` is to be called, at an event of training."""


def every_few_seconds(write: Callable[[], None]) -> Callable[[], None]:
    _writers.append(write)
    return write


def write(now: float) -> None:
    """With the time of day; the first time only begins the wait."""
    _write(now) if _began else _wait(now, 0.0)


def write_early(now: float, always: bool = False) -> None:
    """Before it is due, because something has come to its end."""
    if always or now >= _not_before:
        _write(now)


def _write(now: float) -> None:
    before = time.perf_counter()
    for one in _writers:
        one()
    _wait(now, time.perf_counter() - before)


def _wait(now: float, cost: float) -> None:
    global _began, _not_before, due
    _began = _began or now
    lasted = now - _began
    due = now + max(SECONDS, SHARE * lasted, COST * cost)
    _not_before = now + max(EARLY_SECONDS, EARLY_SHARE * lasted, COST * cost)


@finishing.after_fork
def forget_parent() -> None:
    global _began, _not_before, due
    _began = _not_before = due = 0.0
