"""What a script changes while it is run in thought, and how two ways of it become one."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from surefit.evidence.imagined.shapes import joined as joined_shapes
from surefit.evidence.imagined.values import (
    ABSENT,
    UNKNOWN,
    Device,
    Known,
    Listed,
    Tensor,
    Whole,
    listed,
)

Location = tuple[int, Any]


@dataclass(slots=True)
class Change:
    """One entry of one object, before and after."""

    state: dict[Any, Any]
    key: Any
    old: Any
    new: Any = ABSENT


Changes = dict[Location, Change]


class Trails:
    """Every entry that is set, so that a way can be taken back."""

    def __init__(self) -> None:
        self.open: list[Changes] = []

    def set(self, state: dict[Any, Any], key: Any, value: Any) -> None:
        if self.open:
            where = (id(state), key)
            if where not in self.open[-1]:
                self.open[-1][where] = Change(state, key, state.get(key, ABSENT))
        put(state, key, value)

    def tried(self, run: Callable[[], Any]) -> tuple[Any, Changes]:
        """Runs, takes back what was set, and says what that was."""
        given, changes = self.watched(run)
        for change in reversed(list(changes.values())):
            put(change.state, change.key, change.old)
        return given, changes

    def watched(self, run: Callable[[], Any]) -> tuple[Any, Changes]:
        """Runs, and says what was set; it stays."""
        self.open.append({})
        try:
            given = run()
        finally:
            changes = self.open.pop()
            for change in changes.values():
                change.new = change.state.get(change.key, ABSENT)
            if self.open:
                for where, change in changes.items():
                    self.open[-1].setdefault(where, Change(change.state, change.key, change.old))
        return given, changes

    def apply(self, changes: Changes) -> None:
        for change in changes.values():
            self.set(change.state, change.key, change.new)

    def both(self, first: Changes, second: Changes) -> None:
        """As it is after one way or the other; both began at what is set now."""
        for where in {**first, **second}:
            one, other = first.get(where), second.get(where)
            some = one or other
            assert some is not None
            left = one.new if one else some.old
            right = other.new if other else some.old
            self.set(some.state, some.key, join(some.key, left, right))

    def mix(self, changes: Changes) -> None:
        """What is set now, or what a way had set that was left early."""
        for change in changes.values():
            now = change.state.get(change.key, ABSENT)
            self.set(change.state, change.key, join(change.key, now, change.new))


def put(state: dict[Any, Any], key: Any, value: Any) -> None:
    if value is ABSENT:
        state.pop(key, None)
    else:
        state[key] = value


def join(key: Any, one: Any, other: Any) -> Any:
    """Of two values that an entry can have, what is certain."""
    if one is other or (type(one) is type(other) and one == other):
        return one
    if isinstance(key, tuple):  # a part of a graph that one way has freed
        return ABSENT
    if key in ("asked", "switched", "escaped") and (is_raw(one) or is_raw(other)):
        return True
    if is_raw(one) and is_raw(other):
        return joined_raw(one, other)
    return joined(one, other)


def is_raw(value: Any) -> bool:
    """Kept by surefit about a layer or a list; the script's own values are objects."""
    return value is None or isinstance(value, bool | int | str | tuple | dict | ast.AST | Device)


def joined_raw(one: Any, other: Any) -> Any:
    if type(one) is int and type(other) is int:
        return min(one, other)
    return joined_items(one, other)


def joined_items(one: Any, other: Any) -> Any:
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(joined(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {key: joined(one[key], other[key]) for key in one}
    return None


def joined(one: Any, other: Any) -> Any:
    if one is other or (type(one) is type(other) and one == other):
        return one
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return joined_tensors(one, other)
    if isinstance(one, Listed) and isinstance(other, Listed) and one.kind == other.kind:
        return listed(one.kind, joined_items(one.items, other.items), one.node)
    numbers = (Known, Whole)
    if isinstance(one, numbers) and isinstance(other, numbers) and all_whole(one, other):
        return Whole()
    return UNKNOWN


def all_whole(*values: Any) -> bool:
    return all(isinstance(one, Whole) or type(one.value) is int for one in values)


def joined_tensors(one: Tensor, other: Tensor) -> Tensor:
    def same(name: str) -> Any:
        left, right = getattr(one, name), getattr(other, name)
        return left if left == right else None

    return replace(
        one,
        shape=joined_shapes(one.shape, other.shape),
        dtype=same("dtype"),
        graph=same("graph"),
        parts=one.parts & other.parts,
        unsure=one.unsure or other.unsure or one.parts != other.parts,
        leaf=one.leaf and other.leaf,
        cut=same("cut"),
        low=same("low"),
        high=same("high"),
        counts=one.counts and other.counts,
        everywhere=one.everywhere and other.everywhere,
        padding=same("padding"),
        unreduced=same("unreduced"),
        inference=same("inference"),
        by=one.by if one.by is other.by else None,
        strides=same("strides"),
        cause=same("cause"),
        state={
            "version": 0,
            "device": one.state.get("device")
            if one.state.get("device") == other.state.get("device")
            else None,
        },
    )
