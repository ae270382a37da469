"""Notes what a run writes, talks to or starts outside itself; in a sandbox, ends it before it does.

Python asks audit hooks before it opens, removes or connects. Files that are written by C++ or Rust
code are asked about where torch and safetensors enter it; `walls` keeps the rest in a sandbox.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from os import _exit  # as it is before an observed process gets its own
from types import ModuleType
from typing import Any

from surefit.doctor.observations import Confined, Trace
from surefit.observe.inside import spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.traces import outside

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
MOST_NOTES = 20
SHARED_MEMORY = "/dev/shm"
STOPPED = 97
"""Exit code of a process that a sandbox ended."""

_own: list[str] = []
_noted: set[tuple[str, str]] = set()
_looked_up = threading.local()


def install() -> None:
    _own[:] = outside.own_folders()
    layer = os.environ.get(outside.WALLS)
    if layer == "none":
        _note("unprotected", "")
    elif layer:
        spool.saw(Confined(spool.process(), layer))
    sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """Called for everything that Python audits: 77,000 times while torch is imported."""
    try:
        if event == "open":
            if args[2] & WRITES:
                _wrote(args[0])
        elif event in _CHECKS:
            _CHECKS[event](args)
    except Exception as error:  # noqa: BLE001 - an error here would be the program's own
        with suppress(Exception):  # when Python shuts down, names are gone
            spool.could_not("files written and addresses talked to", error)


def _note(what: str, where: str | None) -> None:
    if where is None:
        return
    if (what, where) not in _noted and len(_noted) < MOST_NOTES:
        _noted.add((what, where))
        spool.saw(Trace(spool.process(), what, where))
    if os.environ.get(outside.SANDBOX):
        _stop()


def _stop() -> None:
    """The parent of a sandbox ends the rest of its group after the main process."""
    main = spool.number("SUREFIT_MAIN_PID")
    if main not in (None, os.getpid()) and os.getpgrp() == main:
        os.killpg(main, signal.SIGKILL)
    _exit(STOPPED)


def _wrote(path: Any, at: int = -1, link: bool = False) -> None:
    _note("wrote", outside.written_outside(path, _own, at, link))


def _renamed(args: tuple[Any, ...]) -> None:
    _wrote(args[0], args[2], link=True)
    _wrote(args[1], args[3], link=True)


def _looks_up(args: tuple[Any, ...]) -> None:
    _looked_up.host, _looked_up.port = args[0], args[1]


def _connected(args: tuple[Any, ...]) -> None:
    address = args[1]
    if isinstance(address, str | bytes):
        _note("connected", outside.socket_outside(os.fsdecode(address), _own))
    if not isinstance(address, tuple) or not isinstance(address[0], str):
        return
    host, port = address[:2]
    if outside.is_foreign(host):
        if getattr(_looked_up, "port", None) == port:
            host = _looked_up.host
        _note("connected", f"{host}:{port}")
    elif os.environ.get(outside.WALLS) and not outside.is_listened_to(port):
        _note("connected", f"{host}:{port}")


_CHECKS: dict[str, Callable[[tuple[Any, ...]], None]] = {
    "os.remove": lambda args: _wrote(args[0], args[1], link=True),
    "os.rmdir": lambda args: _wrote(args[0], args[1], link=True),
    "os.mkdir": lambda args: _wrote(args[0], args[2]),
    "os.rename": _renamed,
    "os.link": lambda args: _wrote(args[1], args[3], link=True),
    "os.symlink": lambda args: _wrote(args[1], args[2], link=True),
    "os.truncate": lambda args: _wrote(args[0]),
    "os.chmod": lambda args: _wrote(args[0], args[2]),
    "os.chown": lambda args: _wrote(args[0], args[3]),
    "os.utime": lambda args: _wrote(args[0], args[3]),
    "os.setxattr": lambda args: _wrote(args[0]),
    "os.removexattr": lambda args: _wrote(args[0]),
    "sqlite3.connect": lambda args: None if args[0] == ":memory:" else _wrote(args[0]),
    "socket.getaddrinfo": _looks_up,
    "socket.connect": _connected,
    "socket.sendto": _connected,
    "subprocess.Popen": lambda args: _note(
        "started", outside.program_outside(args[0], _words(args[1]), args[3])
    ),
    "os.exec": lambda args: _note(
        "started", outside.program_outside(args[0], list(args[1]), args[2])
    ),
    "os.posix_spawn": lambda args: _note(
        "started", outside.program_outside(args[0], list(args[1]), args[2])
    ),
    "os.system": lambda args: _note("started", outside.shell_outside(args[0])),
}


def _words(command: Any) -> list[Any]:
    return [command] if isinstance(command, str | bytes | os.PathLike) else list(command)


@after_import("multiprocessing.synchronize")
def locks_between_processes(module: ModuleType) -> None:
    """Where `/dev/shm` is out of reach: workers of a loader need these, and memory there."""
    if os.environ.get(outside.WALLS) != "landlock":
        return
    plain = module.SemLock.__init__

    @wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            plain(self, *args, **kwargs)
        except PermissionError:
            _note("wrote", SHARED_MEMORY)
            raise

    module.SemLock.__init__ = __init__


@after_import("torch.serialization")
def files_of_torch(module: ModuleType) -> None:
    kind = module._open_zipfile_writer_file
    plain = kind.__init__

    @wraps(plain)
    def __init__(self: Any, name: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        _hook("open", (name, "wb", WRITES))
        plain(self, name, *args, **kwargs)

    kind.__init__ = __init__


@after_import("safetensors")
def files_of_safetensors(module: ModuleType) -> None:
    plain = module.serialize_file

    @wraps(plain)
    def serialize_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        _hook("open", (filename, "wb", WRITES))
        return plain(tensors, filename, *args, **kwargs)

    module.serialize_file = serialize_file  # type: ignore[attr-defined]
