"""Ranks of one launch on one machine, each watched by a `surefit run` of its own.

`torchrun ... -m surefit run x.py` starts them. They share a spool; the first rank of the machine
finds and tells for all, the others watch their script and, if it failed, stay until that is done:
the launcher ends everybody as soon as one of them leaves with an error.
"""

import json
import os
import stat
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

from surefit.doctor.observations import Observation, Process
from surefit.doctor.recording import as_line

PATIENCE = 10.0
"""Seconds that a script runs on after another rank has failed, and that the others are given to
end after this one has."""
LONGEST_REPORT = 60.0
"""Seconds that a failed rank stays for the report, beside what proofs may take."""
POLL = 0.05

NAMES = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "GROUP_RANK", "MASTER_ADDR")


class UnsafeFolderError(Exception):
    """The folder for all ranks is not this user's alone."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of this `surefit run` among those of its launch on this machine."""

    rank: int
    world: int
    local_rank: int
    local_world: int
    folder: Path

    @property
    def reports(self) -> bool:
        return self.local_rank == 0

    def take(self) -> None:
        """Says that it is here, under the number of its process."""
        self._put(self.local_rank, "here", {"pid": os.getpid()})

    def has_ended(self, code: int, seen: Sequence[Observation]) -> None:
        """Leaves what only the watcher of a script knows, and its exit code."""
        lines = "".join(as_line(one) + "\n" for one in seen)
        (self.folder / f"watcher-{os.getpid()}.jsonl").write_text(lines, encoding="utf-8")
        self._put(self.local_rank, "ended", {"code": code})

    def failed(self) -> int | None:
        """The exit code of another rank that has ended with an error."""
        codes = [self._code(rank) for rank in self._others()]
        return next((code for code in codes if code), None)

    def running(self) -> list[int]:
        """Other ranks that have not ended, and whose watchers are alive or not yet there."""
        return [
            rank for rank in self._others() if self._code(rank) is None and not self._is_gone(rank)
        ]

    def close(self) -> None:
        """After the report: those that stay for it leave, and the folder goes."""
        self._put(self.local_rank, "told", {})
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends and any(map(self._stays, self._others())):
            time.sleep(POLL)
        rmtree(self.folder, ignore_errors=True)

    def stay(self, seconds: float) -> None:
        """Until the first rank of the machine has told, or is gone."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.folder.is_dir():
            if self._read(0, "told") is not None or self._is_gone(0):
                break
            time.sleep(POLL)
        with suppress(OSError):
            self._put(self.local_rank, "left", {})

    def _others(self) -> list[int]:
        return [rank for rank in range(self.local_world) if rank != self.local_rank]

    def _stays(self, rank: int) -> bool:
        """It waits for the report, or has still to come for it."""
        return self._read(rank, "left") is None and not self._is_gone(rank)

    def _code(self, rank: int) -> int | None:
        found = self._read(rank, "ended")
        return found["code"] if found else None

    def _is_gone(self, rank: int) -> bool:
        here = self._read(rank, "here")
        return here is not None and not _is_alive(here["pid"])

    def _put(self, rank: int, what: str, content: Mapping[str, int]) -> None:
        """Whole or not at all: others read it at any time."""
        half = self.folder / f"{rank}.{what}.{os.getpid()}"
        half.write_text(json.dumps(content))
        half.rename(self.folder / f"{rank}.{what}")

    def _read(self, rank: int, what: str) -> dict[str, int] | None:
        try:
            found: dict[str, int] = json.loads((self.folder / f"{rank}.{what}").read_text())
        except (OSError, ValueError):
            return None
        return found


def _is_alive(pid: int) -> bool:
    """A process that has ended and was not waited for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return not Path("/proc/self/stat").exists()


def own_process(pid: int) -> Process:
    """The script that this process watches, by its environment."""
    rank, world = _number("RANK"), _number("WORLD_SIZE")
    return Process(pid) if rank is None else Process(pid, "rank", rank, world)


def take_seat() -> Seat | None:
    """None where nobody else on this machine belongs to the same launch."""
    numbers = [_number(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    rank, world, local_rank, local_world = (-1 if number is None else number for number in numbers)
    if "TORCHELASTIC_RUN_ID" not in os.environ or min(rank, local_rank) < 0 or local_world < 2:
        return None
    seat = Seat(rank, world, local_rank, local_world, _shared_folder())
    seat.take()
    return seat


def is_one_of_several() -> bool:
    """This `surefit run` was itself launched: it cannot start the other ranks again."""
    return (_number("WORLD_SIZE") or 1) > 1


def _number(name: str) -> int | None:
    raw = os.environ.get(name, "")
    return int(raw) if raw.isdigit() else None


def _shared_folder() -> Path:
    """The same for all ranks: named by the launch, and by the process that started them."""
    launch = [os.environ.get(name, "") for name in (*NAMES, "MASTER_PORT")]
    launcher = os.getppid()
    whole = json.dumps([*launch, os.getuid(), launcher, _started(launcher)])
    path = Path(tempfile.gettempdir()) / f"surefit-ranks-{sha256(whole.encode()).hexdigest()[:16]}"
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise UnsafeFolderError(f"{path} exists and is not yours alone; remove it")
    return path


def _started(pid: int) -> str:
    """When a process began: its number may have been another's before."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
