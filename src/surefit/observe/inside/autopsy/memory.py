"""What memory was in use for when an allocation failed."""

import gc
import mmap
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from surefit.doctor.observations import Held, Memory
from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import (
    attributes,
    is_a,
    is_module,
    is_tensor,
    mapping,
    untouched,
)

KIB = 1024
RESERVE = 64 << 20
"""Bytes of address space that are kept for looking into a crash for want of memory."""

_reserve: mmap.mmap | None = None


def install() -> None:
    """Mapped and never touched, so that it takes no memory until it is given back."""
    global _reserve
    with suppress(OSError, ValueError):
        _reserve = mmap.mmap(-1, RESERVE)


def make_room(error: BaseException) -> None:
    """Before anything else, if there was none: an autopsy allocates too."""
    global _reserve
    if _reserve is not None and _is_out_of_memory(error):
        _reserve.close()
        _reserve = None


KEPT = "kept in a list of yours, each with its graph"
MOST_NODES = 100_000


def memory_at(error: BaseException, frames: Sequence[FrameType]) -> Memory | None:
    """None where the exception is about something else."""
    if not _is_out_of_memory(error):
        return None
    text = str(error)
    device = "cuda" if "CUDA" in text or "HIP" in text else "cpu"
    total, free = _room(device)
    return Memory(
        device,
        _asked(text),
        total,
        free,
        resident(),
        tuple(_held(frames)),
        _batch(frames),
    )


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get("torch")
    kind = getattr(torch, "OutOfMemoryError", None) if torch else None
    if kind is not None and isinstance(error, kind):
        return True
    return type(error) is RuntimeError and "DefaultCPUAllocator" in str(error)


def _asked(text: str) -> int | None:
    """The exception carries the figure in its text only."""
    if found := re.search(r"allocate (\d+) bytes", text):
        return int(found[1])
    if found := re.search(r"allocate ([\d.]+) ([KMGT])iB", text):
        return int(float(found[1]) * KIB ** ("KMGT".index(found[2]) + 1))
    return None


def _room(device: str) -> tuple[int | None, int | None]:
    if device == "cuda":
        try:
            free, total = sys.modules["torch"].cuda.mem_get_info()
        except RuntimeError:
            return None, None
        return int(total), int(free)
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None, None
    parts = [line.split() for line in lines]
    sizes = {part[0].rstrip(":"): int(part[1]) * KIB for part in parts if len(part) > 1}
    total, free = sizes.get("MemTotal"), sizes.get("MemAvailable")
    limit = _own_limit()
    if limit is not None and (total is None or limit < total):
        total, free = limit, None
    return total, free


def _own_limit() -> int | None:
    """What this process itself may map, where that is bounded."""
    try:
        import resource
    except ImportError:
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit > 0), default=None)


def resident() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4 * KIB
    except (OSError, ValueError, IndexError):
        return None


def _held(frames: Sequence[FrameType]) -> Iterator[Held]:
    """Every storage once, under the first of these that holds it; largest first."""
    counted: set[int] = set()
    found: dict[tuple[str, str], list[int]] = {}
    with untouched():
        for what, holder, tensor in _tensors(frames):
            storage, size = _storage(tensor)
            if storage not in counted and size:
                counted.add(storage)
                found.setdefault((what, holder), []).append(size)
    held = [Held(what, sum(sizes), len(sizes), holder) for (what, holder), sizes in found.items()]
    yield from sorted(held, key=lambda one: -one.bytes)[:20]


def _storage(tensor: Any) -> tuple[int, int]:
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), int(storage.nbytes())
    except (RuntimeError, NotImplementedError):
        return 0, 0


def _tensors(frames: Sequence[FrameType]) -> Iterator[tuple[str, str, Any]]:
    everything = [one for one in gc.get_objects() if not issubclass(type(one), type)]
    modules = [one for one in everything if is_module(one)]
    for module in modules:
        for table in ("_parameters", "_buffers"):
            for one in list(attributes(module).get(table, {}).values()):
                if one is not None:
                    yield "parameters and buffers", "", one
                    if one.is_leaf and one.grad is not None:
                        yield "gradients", "", one.grad
    for one in everything:
        if is_a(one, "torch.optim.optimizer", "Optimizer"):
            for state in list(attributes(one).get("state", {}).values()):
                for value in list(state.values()) if isinstance(state, dict) else []:
                    if is_tensor(value):
                        yield "optimizer state", type(one).__name__, value
    met: dict[int, Any] = {}
    yield from _named(frames, met)
    for one in everything:
        if is_tensor(one):
            kind = "results kept for backward" if one.grad_fn is not None else "other tensors"
            yield kind, "", one
            for saved in _saved(one, met):
                yield "results kept for backward", "", saved


def _named(frames: Sequence[FrameType], met: dict[int, Any]) -> Iterator[tuple[str, str, Any]]:
    """What the user's own names hold, lists of tensors among them with what their graphs hold."""
    for frame in frames:
        if not own_code.own(frame.f_code):
            continue
        for name, value in list(frame.f_locals.items()):
            if is_tensor(value):
                yield "named in your code", name, value
            listed = type(value) in (list, tuple)
            for one in value if listed else list((mapping(value) or {}).values()):
                if is_tensor(one):
                    kept = type(value) is list and one.grad_fn is not None
                    yield (KEPT if kept else "named in your code"), name, one
                    for saved in _saved(one, met) if kept else ():
                        yield KEPT, name, saved


def _saved(tensor: Any, met: dict[int, Any]) -> Iterator[Any]:
    """What the graph behind a tensor keeps for backward; `met`: nodes that were looked at, by
    their ids, and kept so that no id is used again."""
    waiting = [tensor.grad_fn]
    while waiting and len(met) < MOST_NODES:
        node = waiting.pop()
        if node is None or id(node) in met:
            continue
        met[id(node)] = node
        for name in dir(node):
            if name.startswith("_saved_"):
                with suppress(RuntimeError):  # freed by a backward that was run
                    saved = getattr(node, name)
                    if is_tensor(saved):
                        yield saved
        waiting += [before for before, _ in node.next_functions]


def _batch(frames: Sequence[FrameType]) -> int | None:
    """Rows of the tensor that the innermost own line works on."""
    for frame in reversed(frames):
        if own_code.own(frame.f_code):
            for name, value in frame.f_locals.items():
                table = mapping(value)
                tensors = [one for one in (table or {"": value}).values() if is_tensor(one)]
                if tensors and name != "self" and len(tensors[0].shape) > 1:
                    return int(tensors[0].shape[0])
    return None
