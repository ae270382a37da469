"""A Python that has imported what a script imports, and becomes that script by forking.

It serves while Python starts, from `boot/sitecustomize.py`. In a fork, `serve` returns: Python goes
on with its start, is observed as any other, and runs the main program, which is the script that was
asked for. What observes is imported before, and looks at nothing yet. Where a fork could differ
from a plain start in what a script can see, the server says so and ends.
"""

import gc
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, NoReturn

CONTROL = "SUREFIT_FORKS"
"""Environment: the descriptor of a socket, whose other end is closed when nobody asks any more."""
MAIN = "/surefit/main.py"
"""The program that Python believes to start; there is none of that name."""
POLL = 0.005
LONGEST_TRIAL = 5.0
"""Seconds in which a fork must have multiplied two matrices."""
UNTOUCHED = 623
"""The position of NumPy's stream as long as nobody has drawn from it or seeded it."""


def serve() -> Callable[[], None]:
    """Returns in forks alone, with what is left to do when observation has begun."""
    control = socket.socket(fileno=int(os.environ.pop(CONTROL)))
    told, _ = receive(control)
    before = dict(os.environ)
    own_paths = python_path()
    why_not = "" if told is None else prepared(told)
    with suppress(OSError):  # nobody waits any more, which is seen below
        send(control, {"why_not": why_not})
    if told is None or why_not:
        os._exit(0)
    drawn = random.getstate() if told["random"] and random.getstate() != told_state(told) else None
    added = {name: value for name, value in os.environ.items() if before.get(name) != value}
    paths = [path for path in sys.path if path not in own_paths]
    running: dict[int, socket.socket] = {}
    ends: dict[int, int] = {}
    while True:
        wait = POLL if running.keys() - ends.keys() else None
        if control.fileno() in select.select([control.fileno(), *ends.values()], [], [], wait)[0]:
            asked, descriptors = receive(control)
            if asked is None:
                end_all(running)
            reply = socket.socket(fileno=descriptors.pop())
            child = fork()
            if child == 0:
                for opened in (control, reply, *running.values()):
                    opened.close()
                for end in ends.values():
                    os.close(end)
                become(asked, descriptors, added, paths)
                return lambda: begin(drawn)
            for descriptor in descriptors:
                os.close(descriptor)
            reply.sendall(struct.pack("i", child))
            running[child] = reply
            with suppress(AttributeError, OSError):  # where the system cannot tell, it is asked
                ends[child] = os.pidfd_open(child)
        for ended in bury(running):
            if ended in ends:
                os.close(ends.pop(ended))


def receive(line: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """A message and the descriptors that came with it; None: the other end is closed."""
    size, descriptors, _, _ = socket.recv_fds(line, 4, 4)
    if len(size) < 4:
        return None, []
    left = struct.unpack("i", size)[0]
    text = b""
    while len(text) < left:
        part = line.recv(left - len(text))
        if not part:
            return None, []
        text += part
    message: dict[str, Any] = json.loads(text)
    return message, descriptors


def send(line: socket.socket, message: object, descriptors: Sequence[int] = ()) -> None:
    text = json.dumps(message).encode()
    socket.send_fds(line, [struct.pack("i", len(text))], descriptors)
    line.sendall(text)


def fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of native threads: see `works_in_a_fork`
        return os.fork()


def bury(running: dict[int, socket.socket]) -> Iterator[int]:
    """Those that have ended; whoever waits for them is told."""
    for child in tuple(running):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with running.pop(child) as reply, suppress(OSError):
                reply.sendall(struct.pack("i", os.waitstatus_to_exitcode(status)))
            yield child


def end_all(running: dict[int, socket.socket]) -> NoReturn:
    """Nobody waits for these any more."""
    for child in running:
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(child, signal.SIGKILL)
    os._exit(0)


# ---------------------------------------------------------------- before the first fork


def prepared(told: dict[str, Any]) -> str:
    """Imports what the script imports; why no fork would be like a plain start, or nothing."""
    opened = descriptors_open()
    if told["random"]:
        random.setstate(told_state(told))
    state = random.getstate()
    try:
        late_draws = import_all(told)
    except BaseException as error:  # noqa: BLE001 - whatever it is, a plain start meets it as well
        return f"an import failed: {type(error).__name__}: {error}"
    for name, file in told["libraries"].items():
        if getattr(sys.modules.get(name), "__file__", file) != file:
            return f"{name} is another than in the first run"
    late = [name for name in told["late"] if name in sys.modules]
    if late:
        return f"{late[0]} has read its environment"
    if late_draws or (random.getstate() != state and not told["imports_first"]):
        return "random numbers were drawn while importing"
    if threading.active_count() > 1:
        return "a thread was started while importing"
    if descriptors_open() != opened:
        return "a file or a device was opened while importing"
    return drawn_in_libraries() or (
        "" if works_in_a_fork() else "what was imported hangs in a fork"
    )


def told_state(told: dict[str, Any]) -> tuple[Any, ...]:
    version, numbers, gauss = told["random"]
    return version, tuple(numbers), gauss


def import_all(told: dict[str, Any]) -> bool:
    """As the script does: under its name, from its folder; whether what a script imports later drew
    random numbers."""
    sys.argv[:] = told["command"][1:]
    sys.orig_argv[:] = told["command"]
    folder = os.path.dirname(os.path.realpath(told["script"]))
    main = sys.modules["__main__"]
    main.__file__ = told["script"]
    sys.path.insert(0, folder)
    gc.disable()  # nothing that is imported here is ever to be collected
    try:
        for statement in told["imports"]:
            with suppress(Exception):  # the script meets it again, where it stands
                exec(compile(statement, told["script"], "exec", dont_inherit=True), {})
        state = random.getstate()
        for part in told["parts"]:
            with suppress(Exception):
                import_module(part)
        drawn = random.getstate() != state
        import_observer()
        return drawn
    finally:
        sys.path.remove(folder)
        del main.__file__
        gc.freeze()
        gc.enable()


def import_observer() -> None:
    """What observes each fork, which takes as long as the libraries of a small script; it begins
    in the fork."""
    package = os.path.abspath(__file__)
    for _ in range(4):
        package = os.path.dirname(package)
    sys.path.insert(0, package)
    try:
        with suppress(Exception):
            import_module("surefit.observe.inside.install").import_parts()
    finally:
        sys.path.remove(package)


def descriptors_open() -> set[str]:
    """What they lead to; two that come and go while this is asked have the same names."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {path for path in found if not path.startswith("/proc/")}


def drawn_in_libraries() -> str:
    """Streams that begin when their library is imported must still stand there."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None and tuple(numpy.get_state()[2:4]) != (UNTOUCHED, 0):
        return "NumPy's random numbers were drawn while importing"
    torch = sys.modules.get("torch")
    if torch is None:
        return ""
    fresh = torch.Generator().manual_seed(torch.initial_seed())
    if not torch.equal(fresh.get_state(), torch.get_rng_state()):
        return "torch's random numbers were drawn while importing"
    return ""


def works_in_a_fork() -> bool:
    """Compiled libraries can have threads of their own, which a fork lacks; most know of it."""
    child = fork()
    if child == 0:
        multiply()
        os._exit(0)
    ends = time.monotonic() + LONGEST_TRIAL
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(POLL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def multiply() -> None:
    """Large enough that every thread gets a part."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.ones((256, 256)) @ numpy.ones((256, 256))
    if torch is not None:
        (torch.ones(256, 256) @ torch.ones(256, 256)).exp().sum().item()


# ---------------------------------------------------------------- in a fork


def python_path() -> list[str]:
    """As `site` leaves it in `sys.path`; an empty part is the working directory."""
    value = os.environ.get("PYTHONPATH", "")
    return [os.path.abspath(part) for part in value.split(os.pathsep)] if value else []


def become(
    asked: dict[str, Any], descriptors: Sequence[int], added: dict[str, str], paths: Sequence[str]
) -> None:
    """What differs from process to process; then what Python does next."""
    if asked["new_session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update({**added, **asked["environment"]})
    sys.orig_argv[:] = asked["command"]
    sys.argv[:] = asked["command"][1:]
    sys.path[:] = dict.fromkeys([*python_path(), *paths])
    if "numpy.random" in sys.modules:  # those of `random` begin anew in every fork
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def begin(drawn: tuple[Any, ...] | None) -> None:
    """When observation has set the streams to where the first run began: what importing drew."""
    if drawn is not None:
        random.setstate(drawn)
    script = os.path.join(os.getcwd(), sys.argv[0])
    sys.path_hooks.insert(0, in_place_of_main(script))


def in_place_of_main(script: str) -> Callable[[str], Any]:
    """Python asks for the file that it was started with, and is given the script."""

    def hook(path: str) -> Any:
        if path != MAIN:
            raise ImportError(path)
        sys.path_hooks.remove(hook)
        place = sys.path_importer_cache[script] = place_of(script)
        return Instead(script, place)

    return hook


def place_of(script: str) -> Any:
    """As the observer has it."""
    for hook in sys.path_hooks:
        if hook.__module__.startswith("surefit."):
            with suppress(ImportError):  # it is no Python: the reader below says so
                return hook(script)
    return Unobserved(script)


class Instead:
    """Leads on to the script, under its own name, on the way in which Python looks for it."""

    def __init__(self, script: str, place: Any) -> None:
        self.script = script
        self.place = place

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        sys.path[0] = self.script
        spec: ModuleSpec | None = self.place.find_spec(name, target)
        return spec


class Unobserved:
    """An importable place that is a script which nobody observes."""

    def __init__(self, script: str) -> None:
        self.script = script

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "__main__":
            return None
        return ModuleSpec(name, AsItIs(name, self.script), origin=self.script)


class AsItIs(SourceFileLoader):
    """Leaves no trace of how it was reached."""

    def get_code(self, name: str) -> CodeType:  # noqa: ARG002
        sys.path_importer_cache.pop(self.path, None)
        sys.path[0] = os.path.dirname(os.path.realpath(self.path))
        code: CodeType = compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)
        return code
