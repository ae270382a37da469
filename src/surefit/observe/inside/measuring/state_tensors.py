"""Tensors of state dicts and modules, by name: read from their tables, with no code of theirs."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from surefit.observe.inside.autopsy.values import is_module, is_tensor
from surefit.observe.inside.training import readable

MOST = 2048
"""Entries that are looked at."""
FEWEST = 2
"""Entries that tell a prefix from a coincidence."""

Tensors = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]


def in_mapping(state: Mapping[Any, Any]) -> Tensors:
    """Those that have elements which lie here."""
    tensors: Tensors = {}
    if not isinstance(state, dict):
        return tensors
    for name, value in list(state.items())[:MOST]:
        if type(name) is str and is_tensor(value):
            plain = readable.plain(value)
            if plain is not None and _has_an_address(plain):
                tensors[name] = plain
    return tensors


def _has_an_address(tensor: Any) -> bool:
    strided = tensor.layout is readable.torch().strided
    return bool(strided and tensor.numel() and not tensor.is_inference())


def of_module(module: Any) -> Tensors:
    """Parameters and buffers; one that has several names under each."""
    tensors = dict(_tables("", module, 0))
    return in_mapping(tensors)


def _tables(path: str, module: Any, depth: int) -> Iterator[tuple[str, Any]]:
    held = vars(module)
    unsaved = held.get("_non_persistent_buffers_set") or ()
    for table in ("_parameters", "_buffers"):
        for name, value in list((held.get(table) or {}).items()):
            if value is not None and name not in unsaved:
                yield f"{path}{name}", value
    for name, inside in list((held.get("_modules") or {}).items()):
        if is_module(inside) and depth < 32:
            yield from _tables(f"{path}{name}.", inside, depth + 1)


def ties(tensors: Tensors) -> frozenset[frozenset[str]]:
    """Names of floating tensors that are one: the same address and shape."""
    groups: dict[tuple[object, ...], set[str]] = {}
    for name, tensor in tensors.items():
        if tensor.dtype.is_floating_point and tensor.numel() > 1:
            groups.setdefault((tensor.data_ptr(), tuple(tensor.shape)), set()).add(name)
    return frozenset(frozenset(names) for names in groups.values() if len(names) > 1)


def best_prefix(entries: Shapes, targets: Shapes) -> tuple[str, str, int]:
    """The prefix to take off the names, or to put before them, after which most of them have
    the name and shape of a target; and how many have then. Empty where the names fit as well."""
    plain = sum(targets.get(name) == shape for name, shape in entries.items())
    best = "", "", plain
    for drop in _prefixes(entries):
        cut = {name.removeprefix(drop): shape for name, shape in entries.items()}
        fits = sum(targets.get(name) == shape for name, shape in cut.items())
        best = max(best, (drop, "", fits), key=lambda tensors: tensors[2])
    for add in _prefixes(targets):
        fits = sum(targets.get(add + name) == shape for name, shape in entries.items())
        best = max(best, ("", add, fits), key=lambda tensors: tensors[2])
    return best if best[2] >= FEWEST and best[2] > plain else ("", "", plain)


def _prefixes(names: Shapes) -> list[str]:
    """Up to three parts, the most frequent first."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        counts.update(".".join(parts[:end]) + "." for end in range(1, min(4, len(parts))))
    return [prefix for prefix, _ in counts.most_common(16)]
