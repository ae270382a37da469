"""Files that a loader's worker reads through a handle which its parent process opened."""

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.doctor.observations import SharedHandle
from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import attributes

WORKER = "torch.utils.data._utils.worker"
OPAQUE = {
    "sqlite3": ("Connection", "Cursor"),
    "h5py": ("File", "Dataset", "Group"),
    "lmdb": ("Environment", "Transaction"),
}
"""Handles of compiled libraries, whose descriptor no attribute tells."""
MOST_ATTRIBUTES = 100
DEPTH = 2
FIRST = 3
"""Descriptors before it are those of the terminal."""


def shared_handles(frames: Sequence[FrameType]) -> tuple[SharedHandle, ...]:
    """Of the user's frames in a worker that was forked, innermost first."""
    module = sys.modules.get(WORKER)
    info = getattr(module, "_worker_info", None)
    if info is None or not os.path.isdir("/proc/self/fd"):
        return ()
    found: dict[int, SharedHandle] = {}
    for frame in reversed(frames):
        if own_code.own(frame.f_code):
            for text, value in named(frame):
                file = shared_file(value)
                if file:
                    known = SharedHandle(text, type(value).__name__, file, int(info.num_workers))
                    found.setdefault(id(value), known)
    return tuple(found.values())


def named(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """What a frame has under a name: an attribute of `self` first, locals, and globals it uses."""
    for name, value in list(frame.f_locals.items()):
        for key, inner in list(attributes(value).items())[:MOST_ATTRIBUTES]:
            yield f"{name}.{key}", inner
    yield from list(frame.f_locals.items())
    for name in frame.f_code.co_names:
        if name in frame.f_globals:
            yield name, frame.f_globals[name]


def shared_file(value: Any) -> str:
    """The file behind a handle that the parent process has open, too; empty for all else."""
    kind = type(value)
    if kind.__name__ in OPAQUE.get(kind.__module__.partition(".")[0], ()):
        return next(filter(None, map(inherited, descriptors())), "")
    return next(filter(None, map(inherited, descriptors_of(value, DEPTH))), "")


def descriptors_of(value: Any, depth: int) -> Iterator[int]:
    kind = type(value)
    if kind.__module__ in ("_io", "io") or kind is socket.socket:
        try:
            if kind is socket.socket or value.readable():
                yield value.fileno()
        except (OSError, ValueError):
            return  # it is closed, or lies in memory
    elif depth and not own_code.is_own(
        str(getattr(sys.modules.get(kind.__module__), "__file__", ""))
    ):
        for inner in list(attributes(value).values())[:MOST_ATTRIBUTES]:
            yield from descriptors_of(inner, depth - 1)


def descriptors() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) >= FIRST)


def inherited(descriptor: int) -> str:
    """What a descriptor leads to, if it leads there in the parent process, too."""
    if descriptor < FIRST:
        return ""
    try:
        here = os.readlink(f"/proc/self/fd/{descriptor}")
        there = os.readlink(f"/proc/{os.getppid()}/fd/{descriptor}")
    except OSError:
        return ""
    is_file = here.startswith("/") and not here.startswith(("/dev/", "/proc/"))
    return here if here == there and (is_file or here.startswith("socket:")) else ""
