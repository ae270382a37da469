"""Modules of a model as plain data: what they are, and where in the model they hang."""

from collections.abc import Iterable, Iterator
from typing import Any

from surefit.doctor.observations import Layer
from surefit.observe.inside import origins, own_code
from surefit.observe.inside.autopsy.values import attributes, is_module, untouched

MOST_SIZES = 30


def layer_of(module: Any, root: Any = None) -> Layer:
    """A module, named by its way from the root."""
    return Layer(
        type(module).__name__,
        path_in(root, module) if root is not None else None,
        type(root).__name__ if root is not None else None,
        origins.made_at(module),
        own_code.own_class(type(module)),
        _sizes(module),
        _parameters(module),
        bool(attributes(module).get("training", True)),
    )


def _sizes(module: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in list(attributes(module).items()):
        if name.startswith("_") or len(found) >= MOST_SIZES:
            continue
        if type(value) is int:
            found[name] = value
        elif type(value) is tuple and value and all(type(one) is int for one in value):
            if len(set(value)) == 1:
                found[name] = value[0]
            else:
                found |= {f"{name}[{at}]": one for at, one in enumerate(value)}
    return found


def _parameters(module: Any) -> dict[str, tuple[int, ...]]:
    with untouched():
        return {
            name: tuple(int(size) for size in one.shape)
            for kind in ("_parameters", "_buffers")
            for name, one in list(attributes(module).get(kind, {}).items())
            if one is not None and not type(one).__name__.startswith("Uninitialized")
        }


def children(module: Any) -> Iterator[tuple[str, Any]]:
    for name, inside in list(attributes(module).get("_modules", {}).items()):
        if inside is not None and is_module(inside):
            yield name, inside


def walk(root: Any) -> Iterator[tuple[str, Any]]:
    """Every module under a root with its path, each once."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        before = f"{path}." if path else ""
        waiting += [(before + name, inside) for name, inside in children(module)]


def path_in(root: Any, module: Any) -> str | None:
    return next((path for path, inside in walk(root) if inside is module), None)


def largest_holder(module: Any, things: Iterable[object]) -> Any:
    """The largest module, among things and what they hold, that contains this one; or itself."""
    best, most = module, 0
    tried: set[int] = set()
    for thing in things:
        inside = [thing] if is_module(thing) else list(attributes(thing).values())
        for one in inside:
            if not is_module(one) or id(one) in tried:
                continue
            tried.add(id(one))
            below = list(walk(one))
            if len(below) > most and any(found is module for _, found in below):
                best, most = one, len(below)
    return best
