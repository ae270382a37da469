"""What hangs in a module: modules and parameters that it registers, and those that plain lists,
tuples and dictionaries hide from it. Read from its tables; no code of the user's is run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import readable

MOST_HIDDEN = 256
"""Members of a plain container that are looked at."""
WRAPPERS = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Names that `torch.compile`, FSDP and checkpointing put into paths."""
TABLES = frozenset({"_parameters", "_buffers", "_modules"})
CONTAINERS = (list, tuple, dict)
PARALLEL = frozenset({"DataParallel", "DistributedDataParallel"})
"""Classes that hold the user's module as `module`."""


@dataclass(frozen=True, slots=True)
class Hanging:
    """A parameter and the way to it from a root."""

    name: str
    parameter: Any
    layer: str
    """Kind of the module that holds it."""
    registered: bool


def unwrapped(module: Any) -> Any:
    """The user's own module inside one that `torch.compile` or a parallel wrapper made of it."""
    for _ in range(4):
        inside = dict(_items(module, "_modules"))
        held = next((inside[name] for name in WRAPPERS if name in inside), None)
        if held is None and type(module).__name__ in PARALLEL:
            held = inside.get("module")
        if held is None:
            return module
        module = held
    return module


def _items(module: Any, table: str) -> list[tuple[str, Any]]:
    """Of `_modules` or `_parameters`; a scripted module has something else in their place."""
    return list((vars(module).get(table) or {}).items())


def children(module: Any) -> Iterator[Any]:
    """Modules one level below, registered or hidden."""
    yield from (inside for _, inside in _items(module, "_modules") if inside is not None)
    yield from (inside for _, inside in _hidden(module) if _is_module(inside))


def parameters(root: Any) -> Iterator[Hanging]:
    """Each once, by the first way to it; what is registered anywhere is found before what hides."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any, bool]] = [("", unwrapped(root), True)]
    hidden: list[tuple[str, Any, str]] = []
    while waiting or hidden:
        if not waiting:
            path, thing, layer = hidden.pop(0)
            if _is_module(thing):
                waiting.append((path, thing, False))
            elif identity(thing) not in seen and thing.requires_grad and thing.is_leaf:
                seen.add(identity(thing))
                yield Hanging(path, thing, layer, False)
            continue
        path, module, registered = waiting.pop()
        if identity(module) not in seen:
            seen.add(identity(module))
            yield from _own(path, module, registered, seen)
            below = [(name, one) for name, one in _items(module, "_modules") if one is not None]
            waiting += [(_join(path, name), one, registered) for name, one in reversed(below)]
            kind = type(module).__name__
            hidden += [(_join(path, name), one, kind) for name, one in _hidden(module)]


def _own(path: str, module: Any, registered: bool, seen: set[int]) -> Iterator[Hanging]:
    for name, one in _items(module, "_parameters"):
        if one is not None and identity(one) not in seen:
            seen.add(identity(one))
            yield Hanging(_join(path, name), one, type(module).__name__, registered)


def has_parameters(module: Any) -> bool:
    return next(parameters(module), None) is not None


def is_trainable(module: Any) -> bool:
    """One of its parameters, at least, wants a gradient."""
    return any(one.parameter.requires_grad for one in parameters(module))


def _join(path: str, name: str) -> str:
    if name in WRAPPERS:
        return path
    return f"{path}.{name}" if path else name


def _hidden(module: Any) -> Iterator[tuple[str, Any]]:
    """Modules and tensors in plain containers among a module's attributes, two levels deep, and
    modules that were set past it."""
    for name, value in list(vars(module).items()):
        if name in TABLES:
            continue
        if type(value) in CONTAINERS:
            for key, one in _members(value):
                inner = _members(one) if type(one) in CONTAINERS else [("", one)]
                yield from ((f"{name}{key}{deep}", last) for deep, last in inner if _hangs(last))
        elif _is_module(value):
            yield name, value


def _hangs(value: Any) -> bool:
    return _is_module(value) or readable.torch().Tensor in type(value).__mro__


def _is_module(value: Any) -> bool:
    return readable.torch().nn.Module in type(value).__mro__


def _members(container: Any) -> Iterator[tuple[str, Any]]:
    if type(container) is dict:
        for key, one in list(container.items())[:MOST_HIDDEN]:
            if type(key) in (str, int):
                yield f"[{key!r}]", one
    else:
        for index, one in enumerate(container[:MOST_HIDDEN]):
            yield f"[{index}]", one
