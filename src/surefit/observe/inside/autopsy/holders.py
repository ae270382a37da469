"""Under which names the user's frames hold tensors: locals, attributes, members of containers."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import FrameType, ModuleType
from typing import Any

from surefit.doctor.graph_stories import HolderSeen
from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import attributes, is_module, is_tensor

DEEPEST = 6
"""Attributes and subscripts in one name."""
TABLES = ("_parameters", "_buffers", "_modules")
"""Attributes of every module, whose members it gives under names of their own."""
MOST_MEMBERS = 200
MOST_SEEN = 20_000


def held(frames: Iterable[FrameType]) -> Iterator[tuple[HolderSeen, Any]]:
    """Every tensor in the user's own frames, in the order given."""
    for frame in frames:
        if own_code.own(frame.f_code):
            yield from held_in(frame)


def held_in(frame: FrameType) -> Iterator[tuple[HolderSeen, Any]]:
    seen: set[int] = set()
    code = frame.f_code
    for name, value in list(frame.f_locals.items()):
        if not name.startswith("__"):
            start = HolderSeen(name, code.co_qualname, code.co_filename, name)
            yield from inside(value, start, seen, DEEPEST)


def held_by(modules: Iterable[Any]) -> Iterator[tuple[HolderSeen, Any]]:
    """Every tensor in attributes of these modules, where the user's code defines their class; by
    the name that their own methods have for it."""
    for module in modules:
        if own_code.own_class(type(module)):
            kind = type(module).__name__
            for name, value in own_members(module):
                text = f"self.{name}"
                start = HolderSeen(text, "", "", text, owner=kind, attribute=name)
                yield from inside(value, start, set(), DEEPEST)


def own_members(module: Any) -> Iterator[tuple[str, Any]]:
    """Its attributes and buffers; not the modules below it."""
    own = attributes(module)
    yield from list(own.get("_buffers", {}).items())
    for name, value in list(own.items()):
        if name not in TABLES and not is_module(value):
            yield name, value


def inside(
    value: Any, holder: HolderSeen, seen: set[int], depth: int
) -> Iterator[tuple[HolderSeen, Any]]:
    if is_tensor(value):
        yield holder, value
        return
    if depth == 0 or id(value) in seen or len(seen) > MOST_SEEN:
        return
    if type(value) in (list, tuple, dict):
        seen.add(id(value))
        kind = type(value).__name__
        items = value.items() if type(value) is dict else enumerate(value)
        for key, one in list(items)[:MOST_MEMBERS]:
            if type(key) in (str, int):
                below = replace(holder, text=f"{holder.text}[{key!r}]", container=kind)
                yield from inside(one, below, seen, depth - 1)
    elif is_module(value) or is_of_the_users(value):
        seen.add(id(value))
        for name, one in members(value):
            text = f"{holder.text}.{name}"
            below = replace(
                holder,
                text=text,
                base=text,
                container="",
                owner=type(value).__name__,
                attribute=name,
            )
            yield from inside(one, below, seen, depth - 1)


def is_of_the_users(value: Any) -> bool:
    """An object whose class stands in the user's own code; neither a class nor a file."""
    if isinstance(value, type | ModuleType):
        return False
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None) if module else None
    return type(file) is str and own_code.is_own(file)


def members(value: Any) -> Iterator[tuple[str, Any]]:
    own = attributes(value)
    for table in ("_buffers", "_modules"):
        if is_module(value):
            yield from list(own.get(table, {}).items())
    known = [pair for pair in own.items() if pair[0] not in TABLES]
    yield from sorted(known, key=lambda pair: pair[0].startswith("_"))
