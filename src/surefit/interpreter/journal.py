"""Every change to what a script holds: how a path is undone, and how two become one."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from surefit.interpreter.shapes import common_shape
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    Constant,
    DeviceValue,
    Integer,
    SequenceValue,
    TensorValue,
    integer_of,
)

STICKY = ("modified", "grad_switched", "escaped")
"""Fields that are true if they are on one of two paths."""
KNOWN_IF_ALIKE = (
    *("dtype", "graph", "cut", "low", "high", "padding", "one_hot", "flattened", "unreduced"),
    *("inference", "source_layer", "strides", "cause", "device"),
)
"""Fields of a tensor that are None where two paths differ."""


def merge_entries(key: object, left: object, right: object) -> object:
    """Of two values that an entry can have, what is certain."""
    if left is right or (type(left) is type(right) and left == right):
        return left
    if isinstance(key, tuple):  # an operation of a graph that one path has freed
        return ABSENT
    if key in STICKY and (is_field(left) or is_field(right)):
        return True
    if is_field(left) and is_field(right):
        return merge_fields(left, right)
    return merge_values(left, right)


def is_field(value: object) -> bool:
    """Kept by the interpreter about a value; the script's own values are objects."""
    return value is None or isinstance(
        value, bool | int | str | tuple | dict | ast.AST | DeviceValue
    )


def merge_fields(left: object, right: object) -> object:
    if type(left) is int and type(right) is int:
        return min(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return merge_items(left, right)
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        return {key: merge_values(left[key], right[key]) for key in left}
    return None


def merge_items(
    left: tuple[AbstractValue, ...] | None, right: tuple[AbstractValue, ...] | None
) -> tuple[AbstractValue, ...] | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(merge_values(*pair) for pair in zip(left, right, strict=True))


def merge_values(left: object, right: object) -> AbstractValue:
    if isinstance(left, AbstractValue) and (
        left is right or (type(left) is type(right) and left == right)
    ):
        return left
    if isinstance(left, TensorValue) and isinstance(right, TensorValue):
        return merge_tensors(left, right)
    if isinstance(left, SequenceValue) and isinstance(right, SequenceValue):
        if left.kind == right.kind:
            return sequence(left.kind, merge_items(left.items, right.items), left.node)
        return UNKNOWN
    return Integer() if is_integer(left) and is_integer(right) else UNKNOWN


def is_integer(value: object) -> bool:
    return isinstance(value, Integer) or (
        isinstance(value, Constant) and integer_of(value) is not None
    )


def merge_tensors(left: TensorValue, right: TensorValue) -> TensorValue:
    result = replace(
        left,
        shape=common_shape(left.shape, right.shape),
        operations=left.operations & right.operations,
        unsure=left.unsure or right.unsure or left.operations != right.operations,
        leaf=left.leaf and right.leaf,
        counts=left.counts and right.counts,
        everywhere=left.everywhere and right.everywhere,
    )
    for name in KNOWN_IF_ALIKE:
        if getattr(left, name) != getattr(right, name):
            setattr(result, name, None)
    return result


Result = TypeVar("Result")


@dataclass(slots=True)
class StateChange:
    """One entry of a dict, or one field of a value, before and after."""

    owner: object
    key: object
    old: object
    new: object = ABSENT

    @property
    def now(self) -> object:
        return read_entry(self.owner, self.key)


Changes = dict[tuple[int, object], StateChange]


class Journal:
    """Every entry that is set."""

    def __init__(self) -> None:
        self.open: list[Changes] = []

    def set(self, owner: object, key: object, value: object) -> None:
        if self.open:
            where = (id(owner), key)
            if where not in self.open[-1]:
                self.open[-1][where] = StateChange(owner, key, read_entry(owner, key))
        write_entry(owner, key, value)

    def undone(self, run: Callable[[], Result]) -> tuple[Result, Changes]:
        """Runs, undoes what was set, and returns it."""
        result, changes = self.watched(run)
        for change in reversed(list(changes.values())):
            write_entry(change.owner, change.key, change.old)
        return result, changes

    def watched(self, run: Callable[[], Result]) -> tuple[Result, Changes]:
        """Runs, and returns what was set; it stays."""
        self.open.append({})
        try:
            result = run()
        finally:
            changes = self.open.pop()
            for change in changes.values():
                change.new = change.now
            if self.open:
                for where, change in changes.items():
                    self.open[-1].setdefault(
                        where, StateChange(change.owner, change.key, change.old)
                    )
        return result, changes

    def apply(self, changes: Changes) -> None:
        for change in changes.values():
            self.set(change.owner, change.key, change.new)

    def merge_paths(self, first: Changes, second: Changes) -> None:
        """As it is after one path or the other; both began at what is set now."""
        for where in {**first, **second}:
            left, right = first.get(where), second.get(where)
            some = left or right
            assert some is not None
            self.merge(some, left.new if left else some.old, right.new if right else some.old)

    def merge_into_now(self, changes: Changes) -> None:
        """What is set now, or what a path had set that was left early."""
        for change in changes.values():
            self.merge(change, change.now, change.new)

    def merge_with_before(self, changes: Changes) -> None:
        for change in changes.values():
            self.merge(change, change.old, change.now)

    def merge(self, change: StateChange, left: object, right: object) -> None:
        self.set(change.owner, change.key, merge_entries(change.key, left, right))


def read_entry(owner: object, key: object) -> object:
    if isinstance(owner, dict):
        return owner.get(key, ABSENT)
    assert isinstance(key, str)
    return getattr(owner, key)


def write_entry(owner: object, key: object, value: object) -> None:
    if not isinstance(owner, dict):
        assert isinstance(key, str)
        setattr(owner, key, value)
    elif value is ABSENT:
        owner.pop(key, None)
    else:
        owner[key] = value
