"""Scripts run in forks of a Python that has imported torch, which saves the seconds of that."""

import atexit
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import fork_server
from surefit.observe import watching

TORCH = "torch torch._dynamo"
TRANSFORMERS = (
    f"{TORCH} transformers transformers.trainer transformers.data.data_collator "
    "transformers.tokenization_utils_tokenizers"
)

PER_RUN = (
    "SUREFIT_",
    "PYTEST_",
    "FORK_SERVER_",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "TORCHDYNAMO_DISABLE",
    "HF_",
    "TRANSFORMERS_OFFLINE",
    "DO_NOT_TRACK",
    "WANDB_MODE",
    "COMET_MODE",
    "NEPTUNE_MODE",
    "SWANLAB_MODE",
    "CLEARML_OFFLINE_MODE",
    "GRADIO_ANALYTICS_ENABLED",
    "MLFLOW_TRACKING_URI",
    "TRACKIO_DIR",
    "PWD",
)
"""Variables that nothing reads before a script runs, or that surefit sets the same for all."""


class Server:
    """One Python to fork from, for as long as this process lives."""

    def __init__(self, preload: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="surefit-forks-"))
        start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        start += "import fork_server; del sys.path[0]\n"
        start += f"fork_server.serve({str(self.folder)!r})\n"
        (self.folder / "sitecustomize.py").write_text(start)
        self.environment = dict(os.environ)
        lifeline, self.held = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, str(self.folder / "main.py")],
            env={
                **self.environment,
                "PYTHONPATH": str(self.folder),
                "PYTHONHASHSEED": "0",
                fork_server.SOCKET: str(self.folder / "socket"),
                fork_server.PRELOAD: preload,
                fork_server.LIFELINE: str(lifeline),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[lifeline],
            start_new_session=True,
        )
        os.close(lifeline)
        atexit.register(self.end)
        self.wait_until_it_serves()

    def end(self) -> None:
        os.close(self.held)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_until_it_serves(self) -> None:
        while not (self.folder / "socket").exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the fork server ended with code {self.process.returncode}")
            time.sleep(0.02)

    def refuse_another(self, environment: Mapping[str, str]) -> None:
        """In which a process of its own could have imported something else."""
        every = sorted({*environment, *self.environment})
        others = [
            name
            for name in every
            if not name.startswith(PER_RUN) and environment.get(name) != self.environment.get(name)
        ]
        if others:
            raise RuntimeError(f"a fork cannot have {', '.join(others)} of its own")


@cache
def server(preload: str) -> Server:
    return Server(preload)


class Fork:
    """A fork that runs a script; to be used as a `subprocess.Popen` is."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        start_new_session: bool = False,
    ) -> None:
        asked = {
            "command": command,
            "cwd": str(cwd),
            "environment": dict(env),
            "new_session": start_new_session,
        }
        self.args = command
        self.returncode: int | None = None
        text = json.dumps(asked).encode()
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            given = [
                number if to is None else nothing if to == subprocess.DEVNULL else to
                for number, to in enumerate((stdin, stdout, stderr))
            ]
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(server(preload_for(command, cwd)).folder / "socket"))
            socket.send_fds(self.socket, [struct.pack("i", len(text))], given)
            self.socket.sendall(text)
        finally:
            os.close(nothing)
        self.pid: int = struct.unpack("i", self.socket.recv(4))[0]

    def poll(self) -> int | None:
        return self._told(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._told(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _told(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self.socket], [], [], timeout)[0]:
            (self.returncode,) = struct.unpack("i", self.socket.recv(4))
            self.socket.close()
        return self.returncode


def preload_for(command: Sequence[str], cwd: Path) -> str:
    """Not more than the script itself imports: surefit looks at what is loaded."""
    text = (cwd / command[1]).read_text(encoding="utf-8")
    return TRANSFORMERS if "transformers" in text else TORCH


def started(command: Sequence[str], **how: Any) -> "Fork | subprocess.Popen[bytes]":
    """A fork of a script; a process of its own for all else."""
    if command[0] != sys.executable or not command[1].endswith(".py"):
        return subprocess.Popen(command, **how)
    server(preload_for(command, how["cwd"])).refuse_another(how["env"])
    return Fork(command, **how)


@contextmanager
def forking() -> Iterator[None]:
    """Inside, what surefit watches in this process runs in forks."""
    instead = SimpleNamespace(**{**vars(subprocess), "Popen": started})
    with patch.object(watching, "subprocess", instead), patch.dict(os.environ, PYTHONHASHSEED="0"):
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
