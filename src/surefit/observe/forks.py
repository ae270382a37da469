"""Runs of one launch in forks of a Python that has imported its libraries already.

Whatever stands in the way of that, a run starts plainly.
"""

import os
import select
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from surefit.doctor.recording import Recording
from surefit.observe import script
from surefit.observe.child import Child
from surefit.observe.inside.fork_server import CONTROL, MAIN, receive, send
from surefit.observe.launch import BOOT, Launch
from surefit.observe.preloading import READ_LATE, Preload, preload_for, still_fits
from surefit.observe.watching import Watched

PATIENCE = 30.0
"""Seconds that a run waits at most for the server to be ready."""
PROMPT = 5.0
"""Seconds in which a server that is ready must have forked."""
PER_RUN = (
    "SUREFIT_",
    "PYTHONPATH",
    "MLFLOW_TRACKING_URI",
    "TRACKIO_DIR",
    "TORCHDYNAMO_DISABLE",
    "PWD",
    "OLDPWD",
)
"""Variables that no preloaded library has read before the fork."""


class ForkLost(Exception):  # noqa: N818 - it reads as what it is
    """The server ended while a fork of it ran: nothing is known of that run."""


class Server:
    """One Python to fork from; it ends with this process, however that ends."""

    def __init__(self, preload: Preload, launch: Launch, more: Mapping[str, str]) -> None:
        mine = {
            name: value for name, value in os.environ.items() if not name.startswith("SUREFIT_")
        }
        self.environment = {**mine, **launch.environment, **more}
        self.control, theirs = socket.socketpair()
        self.why_not: str | None = None
        """Empty: it is ready; None: it has not said so yet."""
        with theirs:
            path = os.pathsep.join(filter(None, (str(BOOT), self.environment.get("PYTHONPATH"))))
            self.process = subprocess.Popen(
                [launch.command[0], MAIN],
                cwd=launch.cwd,
                env={**self.environment, "PYTHONPATH": path, CONTROL: str(theirs.fileno())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        told = {**asdict(preload), "command": launch.command, "late": READ_LATE}
        with suppress(OSError):  # it has ended: see `is_ready`
            send(self.control, told)

    def is_ready(self, patience: float) -> bool:
        if self.why_not is None and select.select([self.control], [], [], patience)[0]:
            with suppress(OSError):
                answer, _ = receive(self.control)
                self.why_not = answer["why_not"] if answer else "it ended"
        return self.why_not == ""

    def others(self, environment: Mapping[str, str]) -> list[str]:
        """Variables with which a process of its own could have imported something else."""
        names = sorted({*environment, *self.environment})
        differing = [name for name in names if environment.get(name) != self.environment.get(name)]
        return [name for name in differing if not name.startswith(PER_RUN)]

    def close(self) -> None:
        """With all forks that still run."""
        self.control.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(0 if self.why_not is None else PROMPT)
        if self.process.poll() is None:  # it still imports
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Fork:
    """A fork that runs a script; to be used as a `subprocess.Popen` is."""

    def __init__(
        self,
        server: Server,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        start_new_session: bool = False,
    ) -> None:
        """Raises `OSError` where the server does not answer."""
        self.args = command
        self.returncode: int | None = None
        self.lost = False
        asked = {
            "command": list(command),
            "cwd": str(cwd),
            "environment": dict(env),
            "new_session": start_new_session,
        }
        self.line, theirs = socket.socketpair()
        try:
            with theirs, open(os.devnull, "r+b", buffering=0) as nothing:
                given = [
                    number if to is None else nothing.fileno() if to == subprocess.DEVNULL else to
                    for number, to in enumerate((stdin, stdout, stderr))
                ]
                send(server.control, asked, [*given, theirs.fileno()])
            self.pid = self._number(PROMPT)
        except OSError:
            self.line.close()
            raise

    def fileno(self) -> int:
        """Of the line on which the server tells that it has ended."""
        return self.line.fileno()

    def poll(self) -> int | None:
        return self._code(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _code(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self.line], [], [], timeout)[0]:
            try:
                self.returncode = self._number(PROMPT)
            except OSError:
                self.lost, self.returncode = True, -signal.SIGKILL
                for kill in (os.killpg, os.kill):
                    with suppress(OSError):
                        kill(self.pid, signal.SIGKILL)
            self.line.close()
        return self.returncode

    def _number(self, patience: float) -> int:
        self.line.settimeout(patience)
        raw = self.line.recv(4)
        if len(raw) < 4:
            raise OSError("the fork server has ended")
        number: int = struct.unpack("i", raw)[0]
        return number


class Forks:
    """The server of one examination, from when it is begun until it is closed."""

    def __init__(self, launch: Launch, environment: Mapping[str, str]) -> None:
        """`environment`: of every run that will be asked for, beside that of the launch."""
        self.launch = launch
        self.environment = environment
        self.preload: Preload | None = None
        self.server: Server | None = None
        self.begun = False

    def __enter__(self) -> "Forks":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, seen: Recording) -> None:
        """Starts the server, once, and does not wait for it."""
        if self.begun:
            return
        self.begun = True
        self.preload = preload_for(self.launch, seen)
        if self.preload is not None:
            with suppress(OSError):
                self.server = Server(self.preload, self.launch, self.environment)

    def cancel(self) -> None:
        """There is nothing to run so far; should there be later, it can be begun again."""
        self.close()
        self.begun = False

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None

    def watch(self, launch: Launch, *, seconds: float, quiet: bool = True, **how: Any) -> Watched:
        """`script.watch`, in a fork if it can be. Raises `ForkLost` where that began and could not
        be followed to its end; from then on runs start plainly."""
        forks: list[Fork] = []

        def start(command: Sequence[str], **given: Any) -> Child | None:
            fork = self._fork(command, min(PATIENCE, seconds / 2), **given)
            forks.extend([fork] if fork else [])
            return fork

        watched = script.watch(launch, seconds=seconds, quiet=quiet, start=start, **how)
        if any(fork.lost for fork in forks):
            self.close()
            raise ForkLost
        return watched

    def _fork(
        self,
        command: Sequence[str],
        patience: float,
        *,
        cwd: Path,
        env: Mapping[str, str],
        **how: Any,
    ) -> Fork | None:
        """None where the run must start plainly."""
        server, preload = self.server, self.preload
        if server is None or preload is None:
            return None
        if server.others(env) or not still_fits(preload, cwd):
            return None
        if not server.is_ready(patience):
            self.close()
            return None
        try:
            return Fork(server, command, cwd=cwd, env=env, **how)
        except OSError:
            self.close()
            return None
