"""What is run: a script, a module or a launcher, and the environment in which it is observed."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefit.observe.inside import spool

BOOT = Path(__file__).parent / "inside" / "boot"


@dataclass(frozen=True, slots=True)
class Launch:
    """What is to be run, and where."""

    command: tuple[str, ...]
    cwd: Path
    script: str | None = None
    """The user's main file as it was typed, where it is one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside the user's own, for every run of this launch."""


def observed_environment(where: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of the child: two variables more than the user's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SUREFIT_")}
    before = extra.get("PYTHONPATH", kept.get("PYTHONPATH"))
    path = os.pathsep.join([str(BOOT), before] if before else [str(BOOT)])
    return {**kept, **extra, "PYTHONPATH": path, spool.FOLDER: str(where)}


def python_command(words: Sequence[str]) -> tuple[str, ...]:
    """What `surefit run WORDS` runs: a script, `-m module`, or a launcher and its own words."""
    first = words[0]
    is_script = first == "-m" or first.endswith((".py", ".pyw", ".ipynb")) or Path(first).is_dir()
    found = None if is_script else program(first)
    return (sys.executable, *words) if found is None else (found, *words[1:])


def program(name: str) -> str | None:
    """A launcher by its name, as the shell finds it, or beside this Python: an environment need
    not be activated."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
