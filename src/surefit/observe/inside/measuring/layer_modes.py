"""Which layers of a model are in training mode: dropout, batch norm, and the user's own."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.measures.modes import LayerModes
from surefit.observe.inside import own_code
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging, readable

MOST_MODULES = 4096
MOST_NAMED = 4
READS = "training"


def look(root: Any, step: int, calls: int) -> LayerModes:
    """No code of the user's is run."""
    torch = readable.torch()
    dropout = torch.nn.modules.dropout._DropoutNd
    norm = torch.nn.modules.batchnorm._BatchNorm
    on, off, norms, norms_off = 0, 0, 0, 0
    rates: set[float] = set()
    parts: dict[str, None] = {}
    readers: dict[str, None] = {}
    learning: dict[int, bool] = {}
    for path, module, parents in walk(root):
        kinds = type(module).__mro__
        training = vars(module).get("training", True) is True
        if dropout in kinds:
            rate = rate_of(module)
            if rate > 0 and training:
                on += 1
                rates.add(rate)
            elif rate > 0 and _learns(parents, learning):
                off += 1
                rates.add(rate)
                parts[_outermost_off(path, parents)] = None
        elif norm in kinds and vars(module).get("_buffers", {}).get("running_mean") is not None:
            norms += training
            norms_off += not training and _requires(module)
        elif _reads_the_mode(type(module)):
            readers[type(module).__name__] = None
    return LayerModes(
        step=step,
        calls=calls,
        dropouts=on,
        dropouts_off=off,
        norms=norms,
        norms_off=norms_off,
        rates=tuple(sorted(rates))[:MOST_NAMED],
        parts_off=tuple(parts)[:MOST_NAMED],
        readers=tuple(readers)[:MOST_NAMED],
    )


def rate_of(dropout: Any) -> float:
    rate = vars(dropout).get("p", 0.0)
    return float(rate) if type(rate) in (float, int) else 0.0


def walk(root: Any) -> Iterator[tuple[str, Any, tuple[tuple[str, Any], ...]]]:
    """Registered modules with their paths and all that they are in, outermost first."""
    own = hanging.unwrapped(root)
    met = {identity(own)}
    waiting: list[tuple[str, Any, tuple[tuple[str, Any], ...]]] = [("", own, ())]
    for path, module, parents in waiting:
        yield path, module, parents
        if len(waiting) > MOST_MODULES:
            continue
        for name, child in list((vars(module).get("_modules") or {}).items()):
            if child is not None and identity(child) not in met:
                met.add(identity(child))
                below = f"{path}.{name}" if path else name
                waiting.append((below, child, (*parents, (path, module))))


def path_of(root: Any, module: Any) -> str | None:
    """Seen from a model; None where it is no registered part of it."""
    return next((path for path, inside, _ in walk(root) if inside is module), None)


def _learns(parents: tuple[tuple[str, Any], ...], known: dict[int, bool]) -> bool:
    """The innermost module around it that has parameters has some that require a gradient."""
    for _, module in reversed(parents):
        key = identity(module)
        if key not in known:
            known[key] = hanging.is_trainable(module)
        if known[key]:
            return True
        if hanging.has_parameters(module):
            return False
    return False


def _requires(module: Any) -> bool:
    weight = vars(module).get("_parameters", {}).get("weight")
    return weight is not None and bool(weight.requires_grad)


def _outermost_off(path: str, parents: tuple[tuple[str, Any], ...]) -> str:
    """The outermost of the modules around it from which on all are in evaluation mode."""
    outermost = path
    for above, module in reversed(parents):
        if vars(module).get("training", True) is True:
            break
        outermost = above
    return outermost


def _reads_the_mode(kind: type) -> bool:
    for method in vars(kind).values():
        code = getattr(method, "__code__", None)
        if code is not None and READS in code.co_names and method.__name__ not in ("train", "eval"):
            return own_code.own(code)
    return False
