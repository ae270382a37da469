"""A run that nothing happens to, which the others are compared with."""

import time
from dataclasses import dataclass
from pathlib import Path

from .children import begin, count_calls, surefit
from .ends import losses_of
from .trainings import Training


@dataclass(frozen=True, slots=True)
class Unbroken:
    """A whole run, and how long it was."""

    training: Training
    out: Path
    seconds: float
    """From the moment when there is a run folder."""

    bytes: int
    """Of all files that it leaves."""

    calls: int
    """Of Python, that change files of the run folder."""

    def words(self, out: Path) -> list[str]:
        """Of a run that begins, or of one that goes on with what is there."""
        begun = (out / "settings.json").exists()
        return self.training.resumed(out) if begun else self.training.started(out)


def unbroken_run(training: Training, place: Path) -> Unbroken:
    """Raises `RuntimeError` if two unbroken runs differ: nothing could be compared with them."""
    place.mkdir()
    first, again = place / "run", place / "again"
    calls = count_calls(training.started(first), first, place / "first.txt")
    child = begin(surefit(training.started(again)), place / "again.txt")
    while not (again / "settings.json").exists() and child.is_running():
        time.sleep(0.002)
    began = time.monotonic()
    if child.wait() != 0:
        raise RuntimeError(f"an unbroken run fails:\n{child.said}")
    seconds = time.monotonic() - began
    if differing := losses_of(first, again):
        raise RuntimeError(f"two unbroken runs of {training.recipe} differ: {differing}")
    size = sum(path.stat().st_size for path in first.rglob("*") if path.is_file())
    return Unbroken(training, first, seconds, size, calls)
