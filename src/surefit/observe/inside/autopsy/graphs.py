"""Graphs of autograd, walked from the tensors that a backward pass was called on."""

from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.values import is_tensor

MOST_NODES = 50_000
AUTOGRAD = "torch/autograd/__init__.py"


def roots_in(frames: Sequence[FrameType]) -> list[Any]:
    """What the innermost backward pass of these frames was called on."""
    for frame in reversed(frames):
        file = frame.f_code.co_filename.replace("\\", "/")
        if file.endswith(AUTOGRAD) and frame.f_code.co_name in ("backward", "grad"):
            found = frame.f_locals.get("tensors", frame.f_locals.get("outputs"))
            every = found if isinstance(found, list | tuple) else [found]
            tensors = [one for one in every if is_tensor(one)]
            if tensors:
                return tensors
    return []


def nodes_below(starts: Iterable[Any]) -> Iterator[Any]:
    """The functions behind tensors, each once, nearest first; leaves among them."""
    waiting = [one for one in starts if one is not None]
    met = {id(one): one for one in waiting}
    for node in waiting:
        yield node
        if len(met) > MOST_NODES:
            return
        for below, _ in node.next_functions:
            if below is not None and id(below) not in met:
                met[id(below)] = below
                waiting.append(below)


def is_leaf(node: Any) -> bool:
    return hasattr(node, "variable")


class Gone:
    """What a function kept and has been freed."""

    data = None


def saved_in(node: Any) -> Iterator[tuple[str, Any]]:
    """What a function keeps for backward: attribute, and how torch keeps it."""
    for name in dir(node):
        if name.startswith("_raw_saved_"):
            try:
                kept = getattr(node, name)
            except RuntimeError:  # a list that was freed says so
                kept = Gone()
            for one in kept if isinstance(kept, list | tuple) else [kept]:
                if one is not None and hasattr(one, "data"):
                    yield name.removeprefix("_raw"), one


def is_freed(node: Any) -> bool:
    """A backward pass has used up what it kept; False for one that keeps no tensors."""
    kept = list(saved_in(node))
    return bool(kept) and all(one.data is None for _, one in kept)


def changed_since(node: Any) -> list[tuple[str, Any]]:
    """What it kept and was written to afterwards: attribute, and the tensor as it is now."""
    return [
        (name, one.data)
        for name, one in saved_in(node)
        if one.data is not None and not can_be_read(node, name)
    ]


def can_be_read(node: Any, name: str) -> bool:
    """Torch refuses to hand out what was written to since."""
    try:
        getattr(node, name)
    except RuntimeError:
        return False
    return True
