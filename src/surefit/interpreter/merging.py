"""What is certain of a value after one path through a script or another."""

import ast
from dataclasses import replace
from typing import TypeVar, get_args

from surefit.interpreter.shapes import common_shape
from surefit.interpreter.value_queries import integer_of, sequence
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    Constant,
    DeviceValue,
    Integer,
    SequenceValue,
    TensorValue,
)

VALUE_TYPES = get_args(AbstractValue)
STICKY = ("modified", "grad_switched", "escaped")
"""Fields that are true if they are on one of two paths."""
Same = TypeVar("Same")


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
    if isinstance(left, VALUE_TYPES) and (
        left is right or (type(left) is type(right) and left == right)
    ):
        return left  # type: ignore[return-value]
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
    def same(one: Same, other: Same) -> Same | None:
        return one if one == other else None

    return replace(
        left,
        shape=common_shape(left.shape, right.shape),
        dtype=same(left.dtype, right.dtype),
        graph=same(left.graph, right.graph),
        operations=left.operations & right.operations,
        unsure=left.unsure or right.unsure or left.operations != right.operations,
        leaf=left.leaf and right.leaf,
        cut=same(left.cut, right.cut),
        low=same(left.low, right.low),
        high=same(left.high, right.high),
        counts=left.counts and right.counts,
        everywhere=left.everywhere and right.everywhere,
        padding=same(left.padding, right.padding),
        one_hot=same(left.one_hot, right.one_hot),
        flattened=same(left.flattened, right.flattened),
        unreduced=same(left.unreduced, right.unreduced),
        inference=same(left.inference, right.inference),
        source_layer=same(left.source_layer, right.source_layer),
        strides=same(left.strides, right.strides),
        cause=same(left.cause, right.cause),
        device=same(left.device, right.device),
    )
