"""Tensors of a graph that an object holds, which was to be copied or sent: where in it they are."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import attributes, is_module, is_tensor

MOST_VISITED = 20_000
MOST_TOLD = 16
DEEPEST = 12
CHILDREN, OWN_TENSORS = "_modules", ("_parameters", "_buffers")


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    root = value_in(frames, about)
    found = list(tensors_with_graphs(root))
    return {"kept": found[:MOST_TOLD], "count": len(found)} if found else None


def tensors_with_graphs(root: Any) -> Iterator[dict[str, Any]]:
    """Each with its path from the root, as Python writes it, and the attribute at its end."""
    waiting: list[tuple[str, str, str, Any]] = [("", "", "", root)]
    met: set[int] = set()
    for path, attribute, owner, value in waiting:
        if id(value) in met or len(met) > MOST_VISITED:
            continue
        met.add(id(value))
        if is_tensor(value):
            if value.grad_fn is not None:
                yield {
                    "path": path,
                    "attribute": attribute,
                    "owner": owner,
                    "shape": [int(size) for size in value.shape],
                    "direct": path.endswith(f".{attribute}"),
                }
        elif path.count(".") + path.count("[") < DEEPEST:
            waiting += inside(path, attribute, owner, value)


def inside(
    path: str, attribute: str, owner: str, value: Any
) -> Iterator[tuple[str, str, str, Any]]:
    if isinstance(value, dict):
        for key, inner in list(value.items()):
            yield f"{path}[{key!r}]", attribute, owner, inner
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield f"{path}[{number}]", attribute, owner, inner
    elif is_module(value):
        yield from in_module(path, value)
    elif not isinstance(value, type):
        for name, inner in list(attributes(value).items()):
            yield f"{path}.{name}", str(name), type(value).__name__, inner


def in_module(path: str, module: Any) -> Iterator[tuple[str, str, str, Any]]:
    kind = type(module).__name__
    for name, inner in list(attributes(module).items()):
        if name == CHILDREN:
            for child, below in list(inner.items()):
                step = f".{child}" if child.isidentifier() else f"[{child}]"
                yield f"{path}{step}", str(child), kind, below
        elif name in OWN_TENSORS:
            for own, tensor in list(inner.items()):
                yield f"{path}.{own}", str(own), kind, tensor
        elif not name.startswith("_"):
            yield f"{path}.{name}", str(name), kind, inner
