"""Comparisons, membership and identity."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from surefit.interpreter.graphs import without_graph
from surefit.interpreter.shapes import ANY, Shape, broadcast
from surefit.interpreter.value_queries import is_none
from surefit.interpreter.values import (
    NEVER_NONE,
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    Integer,
    Real,
    SequenceValue,
    TensorValue,
)

COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
NUMBERS = (Constant, Integer, Real)


def compare_values(
    left: AbstractValue, op: ast.cmpop, right: AbstractValue, node: ast.AST
) -> AbstractValue:
    if isinstance(op, ast.Is | ast.IsNot):
        same = is_same_object(left, right)
        if same is None:
            return UNKNOWN
        return Constant(same if isinstance(op, ast.Is) else not same)
    if isinstance(op, ast.In | ast.NotIn):
        return is_contained(left, op, right)
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        return compare_tensors(left, right, node)
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            return Constant(bool(COMPARES[type(op)](left.value, right.value)))
        except (TypeError, KeyError):
            return UNKNOWN
    return UNKNOWN


def compare_tensors(left: AbstractValue, right: AbstractValue, node: ast.AST) -> AbstractValue:
    tensors = [value for value in (left, right) if isinstance(value, TensorValue)]
    if any(tensor.is_array for tensor in tensors):
        return UNKNOWN
    shape: Shape | None = ANY
    if len(tensors) == 2:
        shape = broadcast(tensors[0].shape, tensors[1].shape)
    elif isinstance(left, NUMBERS) or isinstance(right, NUMBERS):
        shape = tensors[0].shape
    side = next((tensor for tensor in tensors if tensor.graph), tensors[0])
    return without_graph(side, node, shape or ANY, "bool")


def is_same_object(left: AbstractValue, right: AbstractValue) -> bool | None:
    for item, other in ((left, right), (right, left)):
        if is_none(other):
            if isinstance(item, Constant):
                return item.value is None
            return False if isinstance(item, NEVER_NONE) else None
    match left, right:
        case Constant(value=bool(first)), Constant(value=bool(second)):
            return first is second
    return None


def is_contained(left: AbstractValue, op: ast.cmpop, right: AbstractValue) -> AbstractValue:
    if not isinstance(left, Constant):
        return UNKNOWN
    match right:
        case Constant(value=str(text)) if isinstance(left.value, str):
            inside = left.value in text
        case DictValue(items=dict(entries)):
            inside = left.value in entries
        case SequenceValue(items=tuple(items)) if items:
            constants = [item.value for item in items if isinstance(item, Constant)]
            if len(constants) != len(items):
                return UNKNOWN
            inside = left.value in constants
        case _:
            return UNKNOWN
    return Constant(inside is isinstance(op, ast.In))
