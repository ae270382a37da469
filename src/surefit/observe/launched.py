"""Ranks of one launch on one machine, each watched by a `surefit run` of its own.

`torchrun ... -m surefit run x.py` starts them. They share a spool; the first rank of the machine
finds and tells for all, the others watch their script and, if it failed, stay until that is done:
the launcher ends everybody as soon as one of them leaves with an error.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from surefit.doctor.observations import Observation, Process
from surefit.doctor.recording import as_line
from surefit.launch_notes import Notes, number, shared_folder

PATIENCE = 10.0
"""Seconds that a script runs on after another rank has failed, and that the others are given to
end after this one has."""
LONGEST_REPORT = 60.0
"""Seconds that a failed rank stays for the report, beside what proofs may take."""
POLL = 0.05


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of this `surefit run` among those of its launch on this machine."""

    rank: int
    world: int
    local_rank: int
    local_world: int
    folder: Path

    @property
    def notes(self) -> Notes:
        return Notes(self.folder)

    @property
    def reports(self) -> bool:
        return self.local_rank == 0

    def take(self) -> None:
        """Says that it is here, under the number of its process."""
        self.notes.arrive(self.local_rank)

    def has_ended(self, code: int, seen: Sequence[Observation]) -> None:
        """Leaves what only the watcher of a script knows, and its exit code."""
        lines = "".join(as_line(one) + "\n" for one in seen)
        (self.folder / f"watcher-{os.getpid()}.jsonl").write_text(lines, encoding="utf-8")
        self.notes.put(self.local_rank, "ended", {"code": code})

    def failed(self) -> int | None:
        """The exit code of another rank that has ended with an error."""
        codes = [self._code(rank) for rank in self._others()]
        return next((code for code in codes if code), None)

    def running(self) -> list[int]:
        """Other ranks that have not ended, and whose watchers are alive or not yet there."""
        return [
            rank
            for rank in self._others()
            if self._code(rank) is None and not self.notes.is_gone(rank)
        ]

    def close(self) -> None:
        """After the report: those that stay for it leave, and the folder goes. The launcher ends
        everybody when the first of them has left: that waits until the folder is gone."""
        with without_ending():
            self.notes.put(self.local_rank, "told", {})
            ends = time.monotonic() + PATIENCE
            while time.monotonic() < ends and any(map(self._stays, self._others())):
                time.sleep(POLL)
            rmtree(self.folder, ignore_errors=True)

    def stay(self, seconds: float) -> None:
        """Until the first rank of the machine has told, or is gone."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.folder.is_dir():
            if self.notes.read(0, "told") is not None or self.notes.is_gone(0):
                break
            time.sleep(POLL)
        with suppress(OSError):
            self.notes.put(self.local_rank, "left", {})

    def _others(self) -> list[int]:
        return [rank for rank in range(self.local_world) if rank != self.local_rank]

    def _stays(self, rank: int) -> bool:
        """It waits for the report, or has still to come for it."""
        return self.notes.read(rank, "left") is None and not self.notes.is_gone(rank)

    def _code(self, rank: int) -> int | None:
        found = self.notes.read(rank, "ended")
        return found["code"] if found else None


@contextmanager
def without_ending() -> Iterator[None]:
    """SIGTERM comes to nothing meanwhile; not so outside of the main thread."""
    try:
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def own_process(pid: int) -> Process:
    """The script that this process watches, by its environment."""
    rank, world = number("RANK"), number("WORLD_SIZE")
    return Process(pid) if rank is None else Process(pid, "rank", rank, world)


def take_seat() -> Seat | None:
    """None where nobody else on this machine belongs to the same launch."""
    numbers = [number(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    rank, world, local_rank, local_world = (-1 if number is None else number for number in numbers)
    if "TORCHELASTIC_RUN_ID" not in os.environ or min(rank, local_rank) < 0 or local_world < 2:
        return None
    seat = Seat(rank, world, local_rank, local_world, shared_folder())
    seat.take()
    return seat


def is_one_of_several() -> bool:
    """This `surefit run` was itself launched: it cannot start the other ranks again."""
    return (number("WORLD_SIZE") or 1) > 1
