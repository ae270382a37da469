"""Runs whose clock jumps, and whose files bear times of another year when they are resumed."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from .children import Interruption, begin, kill_now, surefit
from .ends import losses_of
from .outcomes import Outcome, succeeded
from .unbroken import Unbroken

YEARS = 20 * 365 * 24 * 3600.0


def jumping_clocks(unbroken: Unbroken, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    outcome = Outcome(f"{unbroken.training.recipe}: the clock jumps, killed and resumed")
    for number in range(times):
        name = f"{unbroken.training.recipe}-clock-{seed}-{number}"
        outcome.add(name, _jumped(unbroken, place / name, Random(name)))
    yield outcome


def _jumped(unbroken: Unbroken, place: Path, random: Random) -> list[str]:
    place.mkdir()
    out, log = place / "run", place / "log.txt"
    call = random.randint(2, unbroken.calls - 1)
    work = with_a_jumping_clock(surefit(unbroken.words(out)), random)
    begin(work, log, Interruption(out, call, kill_now)).wait()
    for path in out.rglob("*"):
        then = time.time() + random.uniform(-YEARS, YEARS)
        os.utime(path, (then, then))
    child = begin(with_a_jumping_clock(surefit(unbroken.words(out)), random), log)
    return succeeded(child) or losses_of(unbroken.out, out)


def with_a_jumping_clock(work: Callable[[], int], random: Random) -> Callable[[], int]:
    """Python's clock of the day, some years on or back every few calls; that which only measures
    durations never jumps."""
    own, own_ns, offset = time.time, time.time_ns, 0.0

    def jumped() -> float:
        nonlocal offset
        if random.random() < 0.3:
            offset = random.uniform(-YEARS, YEARS)
        return offset

    def jumping() -> int:
        vars(time)["time"] = lambda: own() + jumped()
        vars(time)["time_ns"] = lambda: own_ns() + int(jumped() * 1e9)
        return work()

    return jumping
