"""The order of events in training: a letter for each, counted in cycles from step to step.

T, t: a forward pass in training mode, with and without gradients; E, e: the same in evaluation
mode; B backward, Z gradients cleared, C clipped, U unscaled, A the scaler's step, X one that it
left out, S an optimizer's step. Runs of equal forward passes, and of clippings, are one letter.
"""

from time import time

from surefit.observe.inside import finishing
from surefit.observe.inside.training import last_event

ONCE_IN_A_ROW = frozenset("TtEeC")
LONGEST = 256
"""Letters of a cycle that are kept; of a longer one the middle is left out."""
MOST_CYCLES = 64
"""Different cycles that are told apart; the rest is counted together under `CUT`."""
CUT = "…"


class Letters:
    """What was noted so far. Slots, because this is read and written at every event."""

    __slots__ = ("cycles", "events", "now", "shared", "since", "steps")

    def __init__(self) -> None:
        self.events = 0
        self.steps = 0
        self.now = 0.0
        """Wall time of the last event."""
        self.since: list[str] = []
        self.cycles: dict[str, int] = {}
        self.shared: memoryview[float] | None = None


noted = Letters()


def note(letter: str, under_way: bool = False) -> None:
    """Adds an event; under way: it begins now and is said to have ended by `ended`."""
    shared = noted.shared
    if shared is None:
        shared = noted.shared = last_event.shared()
    noted.events = events = noted.events + 1
    noted.now = now = time()
    shared[0], shared[2], shared[3], shared[4] = events, now, ord(letter), under_way
    since = noted.since
    if letter not in ONCE_IN_A_ROW or not since or since[-1] != letter:
        since.append(letter)
        if len(since) > 4 * LONGEST:
            del since[LONGEST : 2 * LONGEST]


def ended() -> None:
    if noted.shared is not None:
        noted.shared[4] = 0.0


def stepped() -> None:
    """An optimizer has stepped: a cycle ends."""
    noted.steps += 1
    note("S")
    if noted.shared is not None:
        noted.shared[1] = noted.steps
    end_cycle()


def end_cycle() -> None:
    letters, cycles = noted.since, noted.cycles
    cycle = "".join(letters)
    if cycle in cycles:
        cycles[cycle] += 1
    else:
        if len(letters) > LONGEST:
            cycle = cycle[: LONGEST // 2] + CUT + cycle[-LONGEST // 2 :]
        if len(cycles) >= MOST_CYCLES:
            cycle = CUT
        cycles[cycle] = cycles.get(cycle, 0) + 1
    letters.clear()


@finishing.after_fork
def forget_parent() -> None:
    noted.__init__()  # type: ignore[misc]
