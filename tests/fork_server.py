"""A Python that has imported torch already, and becomes any number of scripts by forking.

It serves while Python starts, from `sitecustomize`. In a fork, that returns: Python goes on with
its start and runs the main program, as it does in a process of its own, only that this program is
the script that was asked for. surefit is not in it: where the environment of a script says that it
is observed, surefit's own `sitecustomize` is run in the fork, before the script.
"""

import gc
import json
import os
import random
import select
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

SOCKET = "FORK_SERVER_SOCKET"
PRELOAD = "FORK_SERVER_PRELOAD"
LIFELINE = "FORK_SERVER_LIFELINE"
"""Environment: a descriptor that is closed when nobody is left to ask for scripts."""

POLL = 0.005


def serve(folder: str) -> None:
    """Returns in forks alone."""
    gc.disable()  # nothing that is imported here is ever to be collected
    for name in os.environ[PRELOAD].split():
        with suppress(ModuleNotFoundError):  # libraries of other versions have other modules
            import_module(name)
    gc.collect()
    gc.freeze()
    gc.enable()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.environ[SOCKET] + ".new")
    listener.listen()
    Path(os.environ[SOCKET] + ".new").rename(os.environ[SOCKET])
    lifeline = int(os.environ[LIFELINE])
    running: dict[int, socket.socket] = {}
    awaited: list[Any] = [listener, lifeline]
    while True:
        ready, _, _ = select.select(awaited, [], [], POLL if running else None)
        if lifeline in ready:
            os._exit(0)
        if listener in ready:
            asking, _ = listener.accept()
            asked, descriptors = receive(asking)
            child = os.fork()
            if child == 0:
                for opened in (listener, asking, *running.values()):
                    opened.close()
                os.close(lifeline)
                become(asked, descriptors, folder)
                return
            for descriptor in descriptors:
                os.close(descriptor)
            asking.sendall(struct.pack("i", child))
            running[child] = asking
        bury(running)


def receive(asking: socket.socket) -> tuple[dict[str, Any], list[int]]:
    size, descriptors, _, _ = socket.recv_fds(asking, 4, 3)
    left = struct.unpack("i", size)[0]
    text = b""
    while len(text) < left:
        text += asking.recv(left - len(text))
    asked: dict[str, Any] = json.loads(text)
    return asked, descriptors


def bury(running: dict[int, socket.socket]) -> None:
    for child in tuple(running):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with running.pop(child) as asking:
                asking.sendall(struct.pack("i", os.waitstatus_to_exitcode(status)))


def become(asked: dict[str, Any], descriptors: Sequence[int], folder: str) -> None:
    """What differs from process to process; then what Python does next."""
    if asked["new_session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.orig_argv[:] = asked["command"]
    sys.argv[:] = asked["command"][1:]
    begin_anew()
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*paths, *(path for path in sys.path if path != folder)]
    customize()
    main, script = Path(folder, "main.py"), Path(asked["cwd"], sys.argv[0])
    sys.path_hooks.insert(0, in_place_of(str(main), str(script)))


def begin_anew() -> None:
    """Streams that every process seeds for itself."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def customize() -> None:
    """As Python's start does, and as if this process had none of its own."""
    mine = sys.modules.pop("sitecustomize")
    try:
        import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    sys.modules.setdefault("sitecustomize", mine)


def in_place_of(main: str, script: str) -> Callable[[str], Any]:
    """Python asks for `main`, the file that it was started with, and is given the script."""

    def hook(path: str) -> Any:
        if path != main:
            raise ImportError(path)
        sys.path_hooks.remove(hook)
        place = sys.path_importer_cache[script] = place_of(script)
        return Instead(script, place)

    return hook


def place_of(script: str) -> Any:
    """As surefit has it, where it observes."""
    for hook in sys.path_hooks:
        if hook.__module__.startswith("surefit."):
            return hook(script)
    return Place(script)


class Instead:
    """Leads on to the script, under its own name, on the way in which Python looks for it."""

    def __init__(self, script: str, place: Any) -> None:
        self.script = script
        self.place = place

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        sys.path[0] = self.script
        found: ModuleSpec | None = self.place.find_spec(name, target)
        return found


class Place:
    """An importable place that is a script which nobody observes."""

    def __init__(self, script: str) -> None:
        self.script = script

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "__main__":
            return None
        return ModuleSpec(name, Script(name, self.script), origin=self.script)


class Script(SourceFileLoader):
    """Leaves no trace of how it was found."""

    def get_code(self, name: str) -> CodeType:  # noqa: ARG002
        sys.path_importer_cache.pop(self.path, None)
        sys.path[0] = str(Path(self.path).resolve().parent)
        code: CodeType = compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)
        return code
