"""Scripts run in forks of a Python that has imported torch, which saves the seconds of that."""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from surefit.observe import watching
from surefit.observe.forks import Fork, Forks, Server
from surefit.observe.launch import Launch
from surefit.observe.preloading import Preload

TORCH = "torch torch._dynamo"
TRANSFORMERS = (
    f"{TORCH} transformers transformers.trainer transformers.data.data_collator "
    "transformers.tokenization_utils_tokenizers"
)

PER_RUN = (
    "PYTEST_",
    "PYTHONHASHSEED",
    "HF_",
    "TRANSFORMERS_OFFLINE",
    "DO_NOT_TRACK",
    "WANDB_MODE",
    "COMET_MODE",
    "NEPTUNE_MODE",
    "SWANLAB_MODE",
    "CLEARML_OFFLINE_MODE",
    "GRADIO_ANALYTICS_ENABLED",
)
"""Variables that nothing reads before a script runs, or that surefit sets the same for all."""
LONGEST_START = 120.0


@cache
def server(preload: str) -> Server:
    """For as long as this process lives."""
    what = Preload(
        script=str(Path(__file__).parent / "main.py"),
        imports=tuple(f"import {name}" for name in ("short_ends", *preload.split())),
        parts=(),
        libraries={},
        sources=(),
        imports_first=True,
        random=None,
    )
    launch = Launch((sys.executable, "main.py"), Path.cwd(), environment={"PYTHONHASHSEED": "0"})
    made = Server(what, launch, {})
    atexit.register(made.close)
    if not made.is_ready(LONGEST_START):
        raise RuntimeError(f"there is nothing to fork from: {made.why_not}")
    return made


def preload_for(command: Sequence[str], cwd: Path) -> str:
    """Not more than the script itself imports: surefit looks at what is loaded."""
    text = (cwd / command[1]).read_text(encoding="utf-8")
    return TRANSFORMERS if "transformers" in text else TORCH


def started(command: Sequence[str], **how: Any) -> "Fork | subprocess.Popen[bytes]":
    """A fork of a script; a process of its own for all else."""
    if command[0] != sys.executable or not command[1].endswith(".py"):
        return subprocess.Popen(command, **how)
    ours = server(preload_for(command, how["cwd"]))
    others = [name for name in ours.others(how["env"]) if not name.startswith(PER_RUN)]
    if others:
        raise RuntimeError(f"a fork cannot have {', '.join(others)} of its own")
    return Fork(ours, command, **how)


@contextmanager
def forking() -> Iterator[None]:
    """Inside, what surefit watches in this process runs in forks, also what it starts plainly."""
    instead = SimpleNamespace(**{**vars(subprocess), "Popen": started})
    with (
        patch.object(watching, "subprocess", instead),
        patch.object(Forks, "begin"),
        patch.dict(os.environ, PYTHONHASHSEED="0"),
    ):
        yield


@dataclass
class Said:
    """What was written to the two streams, by this process and by those that it started."""

    out: str = ""
    err: str = ""


@contextmanager
def captured() -> Iterator[Said]:
    said = Said()
    with ExitStack() as leaving:
        out = leaving.enter_context(_led_away(1, "stdout"))
        err = leaving.enter_context(_led_away(2, "stderr"))
        yield said
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        said.out, said.err = _read(out), _read(err)


@contextmanager
def _led_away(number: int, name: str) -> Iterator[int]:
    kept = os.dup(number)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            with (
                open(number, "w", encoding="utf-8", closefd=False) as stream,
                patch.object(sys, name, stream),
            ):
                yield file.fileno()
        finally:
            os.dup2(kept, number)
            os.close(kept)


def _read(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode()
