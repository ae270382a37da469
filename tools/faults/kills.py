"""Runs that are killed at moments that a seed decides, once or twice in a row, and resumed."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from .children import Child, Interruption, begin, die_in_a_write, kill_now, surefit
from .ends import losses_of
from .outcomes import Outcome, succeeded
from .unbroken import Unbroken

WAYS = {
    "time": "killed at a moment",
    "call": "killed at a call on a file of the run folder",
    "write": "ended in the midst of a write",
}
TWICE = 0.4
"""The share of runs that are killed again when they were resumed."""


@dataclass(frozen=True, slots=True)
class Death:
    """How and when a run dies; drawn for an unbroken run, of which it may have only the end."""

    way: str
    share: float
    """Of the seconds or calls of an unbroken run, once there is a run folder."""

    longest: int
    """In bytes, of a file that a write makes longer."""

    def __str__(self) -> str:
        return f"{self.way} {self.share:.3f}"


def deaths(random: Random, way: str) -> list[Death]:
    count = 1 + (random.random() < TWICE)
    return [Death(way, random.random(), int(10 ** random.uniform(1, 5))) for _ in range(count)]


def killed(unbroken: Unbroken, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    """Half of them at moments, half at calls on files."""
    recipe = unbroken.training.recipe
    counts = {"time": times - times // 2, "call": times // 2 - times // 4, "write": times // 4}
    for way, count in counts.items():
        outcome = Outcome(f"{recipe}: {WAYS[way]}")
        twice = 0
        for number in range(count):
            name = f"{recipe}-{way}-{seed}-{number}"
            random = Random(name)
            twice += _killed_once_or_twice(unbroken, place / name, random, way, outcome)
        if count:
            outcome.what += f", {twice} of them twice in a row" if twice else ""
            yield outcome


def _killed_once_or_twice(
    unbroken: Unbroken, place: Path, random: Random, way: str, outcome: Outcome
) -> bool:
    """Whether it died a second time."""
    place.mkdir()
    out, log = place / "run", place / "log.txt"
    died = 0
    for death in deaths(random, way):
        child = _begun(unbroken, out, log, death)
        if child.code == 0 and not died:  # it ended before its moment had come
            shutil.rmtree(out)
            child = _begun(unbroken, out, log, replace(death, share=death.share / 2, longest=0))
        if child.code == 0:
            break
        died += 1
        outcome.count_again(out)
    lost = succeeded(begin(surefit(unbroken.words(out)), log)) or losses_of(unbroken.out, out)
    if died:
        outcome.add(place.name, lost)
    return died > 1


def _begun(unbroken: Unbroken, out: Path, log: Path, death: Death) -> Child:
    words = unbroken.words(out)
    if death.way == "time":
        child = begin(surefit(words), log)
        _wait_for(out / "settings.json", child)
        time.sleep(death.share * unbroken.seconds)
        child.kill()
        return child
    act = kill_now if death.way == "call" else die_in_a_write(death.longest)
    call = 1 + int(death.share * unbroken.calls)
    child = begin(surefit(words), log, Interruption(out, call, act))
    child.wait()
    return child


def _wait_for(file: Path, child: Child) -> None:
    while not file.exists() and child.is_running():
        time.sleep(0.002)
