"""Notes that the processes of one launch on one machine leave for each other."""

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

NAMES = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "GROUP_RANK", "MASTER_ADDR")


class UnsafeFolderError(Exception):
    """The folder for all ranks is not this user's alone."""


@dataclass(frozen=True, slots=True)
class Notes:
    """A folder for all of them, in which each writes under its number on this machine."""

    folder: Path

    def arrive(self, local_rank: int) -> None:
        """Says that it is here, under the number of its process."""
        self.put(local_rank, "here", {"pid": os.getpid()})

    def is_gone(self, local_rank: int) -> bool:
        """It was here, and its process has ended."""
        here = self.read(local_rank, "here")
        return here is not None and not is_alive(here["pid"])

    def put(self, local_rank: int, what: str, content: Mapping[str, object]) -> None:
        """Whole or not at all: others read it at any time."""
        half = self.folder / f"{local_rank}.{what}.{os.getpid()}"
        half.write_text(json.dumps(content))
        half.rename(self.folder / f"{local_rank}.{what}")

    def read(self, local_rank: int, what: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.folder / f"{local_rank}.{what}").read_text())
        except (OSError, ValueError):
            return None
        return found

    def claim(self, what: str) -> bool:
        """True for the first process that asks for it."""
        try:
            (self.folder / f"claimed.{what}").touch(exist_ok=False)
        except OSError:
            return False
        return True

    def claimed(self) -> list[str]:
        """All that any process has asked for."""
        found = sorted(self.folder.glob("claimed.*"))
        return [file.name.removeprefix("claimed.") for file in found]


def number(name: str) -> int | None:
    """A number that the launcher has put into the environment."""
    raw = os.environ.get(name, "")
    return int(raw) if raw.isdigit() else None


def shared_folder() -> Path:
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


def is_alive(pid: int) -> bool:
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


def _started(pid: int) -> str:
    """When a process began: its number may have been another's before."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
