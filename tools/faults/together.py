"""Two runs on one run folder: the second is refused, and the first is as if it were alone."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from .children import Interruption, begin, pause_now, surefit
from .ends import losses_of
from .outcomes import Outcome, refused, succeeded
from .unbroken import Unbroken

REFUSALS = ("run-in-use", "out-folder-in-use", "not-a-run")


def two_on_one_folder(unbroken: Unbroken, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    recipe = unbroken.training.recipe
    during = Outcome(f"{recipe}: a second run on the folder of one that trains")
    at_once = Outcome(f"{recipe}: two runs begin on one folder at once")
    for number in range(times):
        name = f"{recipe}-during-{seed}-{number}"
        during.add(name, _during(unbroken, place / name, Random(name)))
        name = f"{recipe}-at-once-{seed}-{number}"
        at_once.add(name, _at_once(unbroken, place / name))
    yield during
    yield at_once


def _during(unbroken: Unbroken, place: Path, random: Random) -> list[str]:
    """Half of the second runs resume it, half begin there."""
    place.mkdir()
    out, log = place / "run", place / "log.txt"
    call = random.randint(2, unbroken.calls)
    first = begin(surefit(unbroken.words(out)), log, Interruption(out, call, pause_now))
    if not first.wait_for_pause():
        return [f"it ended before its call {call}"]
    training = unbroken.training
    words = training.resumed(out) if random.random() < 0.5 else training.started(out)
    lost = refused(begin(surefit(words), place / "second.txt"), *REFUSALS)
    first.go_on()
    return lost or succeeded(first) or losses_of(unbroken.out, out)


def _at_once(unbroken: Unbroken, place: Path) -> list[str]:
    place.mkdir()
    out = place / "run"
    work = surefit(unbroken.words(out))
    children = [begin(work, place / f"log-{number}.txt") for number in range(2)]
    codes = [child.wait() for child in children]
    if sorted(code == 0 for code in codes) != [False, True]:
        return [f"exit codes {codes}"]
    return refused(children[codes[0] == 0], *REFUSALS) or losses_of(unbroken.out, out)
