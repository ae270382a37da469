"""Names and shapes of a module that was being loaded, and of what it was given."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import origins
from surefit.observe.inside.autopsy.array_files import shown
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_module, is_tensor, mapping

MOST_TENSORS = 20_000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    found = loading(frames)
    if found is None:
        return None
    module, given = found
    own = dict(tensors_of(module))
    if len(own) > MOST_TENSORS or len(given) > MOST_TENSORS:
        return None
    return {
        "kind": type(module).__name__,
        "own": {name: shape(tensor) for name, tensor in own.items()},
        "given": {str(name): shape(one) for name, one in given.items() if is_tensor(one)},
        "other": [str(name) for name, one in given.items() if not is_tensor(one)],
        "inside": inside(given),
        "made_at": place(module),
    }


def loading(frames: Sequence[FrameType]) -> tuple[Any, dict[Any, Any]] | None:
    """The outermost module whose `load_state_dict` is on the way, and its argument."""
    for frame in frames:
        names = frame.f_locals
        module = names.get("self")
        if frame.f_code.co_name == "load_state_dict" and is_module(module):
            given = mapping(names.get("state_dict"))
            return (module, given) if given is not None else None
    return None


def tensors_of(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """As its state dict would name them; no method of a class of the user's is called."""
    own = attributes(module)
    temporary = own.get("_non_persistent_buffers_set", ())
    for table in ("_parameters", "_buffers"):
        for name, one in own.get(table, {}).items():
            if one is not None and not (table == "_buffers" and name in temporary):
                yield prefix + name, one
    for name, one in own.get("_modules", {}).items():
        if one is not None:
            yield from tensors_of(one, f"{prefix}{name}.")


def inside(given: dict[Any, Any]) -> dict[str, dict[str, list[int]]]:
    """Mappings that the argument holds, as a whole checkpoint does."""
    tables = {str(name): mapping(one) for name, one in given.items()}
    found = {
        name: {str(key): shape(one) for key, one in table.items() if is_tensor(one)}
        for name, table in tables.items()
        if table
    }
    return {name: table for name, table in found.items() if table}


def shape(tensor: Any) -> list[int]:
    return [int(size) for size in tensor.shape]


def place(module: Any) -> dict[str, Any] | None:
    made = origins.made_at(module)
    return {"file": shown(made.file), "line": made.line} if made else None
