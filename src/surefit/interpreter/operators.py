"""Operators on numbers, lists, arrays and tensors."""

import ast
import operator
from collections.abc import Callable

from surefit.interpreter.classes import truth_of
from surefit.interpreter.devices import FLOATS, INTEGRAL
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import operation_result, without_graph
from surefit.interpreter.joining import combine, matrix_product
from surefit.interpreter.journal import is_integer
from surefit.interpreter.operation_calls import copy_bounds
from surefit.interpreter.optimizers import check_gradients
from surefit.interpreter.shapes import ANY, Shape, broadcast
from surefit.interpreter.tensor_creation import new_array
from surefit.interpreter.value_queries import apply, is_array, is_none, sequence
from surefit.interpreter.values import (
    NEVER_NONE,
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    EachParameter,
    Integer,
    NodePair,
    Real,
    SequenceValue,
    TensorValue,
    integer_of,
)

ARITHMETIC: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
LARGEST = 10**9
MOST_COPIES = 64


def binary(
    run: Evaluator,
    left: AbstractValue,
    op: ast.operator,
    right: AbstractValue,
    nodes: NodePair,
    node: ast.AST,
) -> AbstractValue:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return constant_arithmetic(left, op, right, node)
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        return tensor_arithmetic(run, left, op, right, nodes, node)
    if isinstance(left, SequenceValue) or isinstance(right, SequenceValue):
        return sequence_arithmetic(left, op, right, node)
    for side in (left, right):
        if isinstance(side, EachParameter) and side.grad:
            check_gradients(run, side, node)
    keeps_integers = isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod)
    return Integer() if keeps_integers and is_integer(left) and is_integer(right) else UNKNOWN


def constant_arithmetic(
    left: Constant, op: ast.operator, right: Constant, node: ast.AST
) -> AbstractValue:
    plain = (int, float, str, tuple)
    first, second = left.value, right.value
    if not isinstance(first, plain) or not isinstance(second, plain) or type(op) not in ARITHMETIC:
        return UNKNOWN
    if isinstance(first, str) and not isinstance(op, ast.Add):
        return UNKNOWN
    if isinstance(op, ast.Pow) and not (is_at_most(first, 1000) and is_at_most(second, 64)):
        return UNKNOWN
    result = apply(ARITHMETIC[type(op)], (left, right), node)
    value = result.value if isinstance(result, Constant) else None
    too_large = isinstance(value, int | float) and abs(value) > LARGEST
    return UNKNOWN if too_large or isinstance(value, complex) else result


def is_at_most(value: object, most: int) -> bool:
    return isinstance(value, int | float) and abs(value) <= most


def sequence_arithmetic(
    left: AbstractValue, op: ast.operator, right: AbstractValue, node: ast.AST
) -> AbstractValue:
    if (
        isinstance(op, ast.Add)
        and isinstance(left, SequenceValue)
        and isinstance(right, SequenceValue)
    ):
        if left.items is None or right.items is None:
            return sequence(left.kind, None, node)
        return sequence(left.kind, (*left.items, *right.items), node)
    several, number = (left, right) if isinstance(left, SequenceValue) else (right, left)
    if not isinstance(op, ast.Mult) or not isinstance(several, SequenceValue):
        return UNKNOWN
    count = integer_of(number)
    if several.items is None or count is None or count * len(several.items) > MOST_COPIES:
        return sequence(several.kind, None, node)
    return sequence(several.kind, several.items * count, node)


def tensor_arithmetic(
    run: Evaluator,
    left: AbstractValue,
    op: ast.operator,
    right: AbstractValue,
    nodes: NodePair,
    node: ast.AST,
) -> AbstractValue:
    if is_array(left) or is_array(right):
        return array_arithmetic(left, op, right, node)
    if isinstance(left, TensorValue) and isinstance(right, TensorValue):
        if isinstance(op, ast.MatMult):
            return matrix_product(run, (left, right), nodes, node)
        keeps = not isinstance(op, ast.Add | ast.Sub)
        dtype = promote_dtypes(left.dtype, right.dtype)
        return combine(run, (left, right), nodes, node, dtype, keeps)
    tensor, other = (left, right) if isinstance(left, TensorValue) else (right, left)
    assert isinstance(tensor, TensorValue)
    if isinstance(op, ast.MatMult) or not isinstance(other, Constant | Integer | Real):
        return operation_result(run, node, ANY, [tensor, TensorValue()], None)
    keeps = isinstance(op, ast.Pow | ast.Div) and tensor is right
    dtype = dtype_with_number(tensor.dtype, op, other)
    result = operation_result(run, node, tensor.shape, [tensor], dtype, keeps=keeps)
    result.source_layer, result.unreduced = tensor.source_layer, tensor.unreduced
    shift_bounds(tensor, op, other, result)
    return result


def array_arithmetic(
    left: AbstractValue, op: ast.operator, right: AbstractValue, node: ast.AST
) -> AbstractValue:
    """An array and a plain number; of two arrays nothing is said."""
    tensor, other = (left, right) if isinstance(left, TensorValue) else (right, left)
    if not isinstance(tensor, TensorValue) or not isinstance(other, Constant):
        return UNKNOWN
    if isinstance(op, ast.MatMult):
        return UNKNOWN
    makes_float = isinstance(op, ast.Div) or isinstance(other.value, float)
    dtype = "float64" if tensor.dtype == "int64" and makes_float else tensor.dtype
    return new_array(tensor.shape, dtype, node if dtype != tensor.dtype else tensor.dtype_at, node)


def shift_bounds(
    tensor: TensorValue, op: ast.operator, other: AbstractValue, result: TensorValue
) -> None:
    """Integers that a constant is added to."""
    number = integer_of(other)
    if number is None or not isinstance(op, ast.Add | ast.Sub):
        return
    copy_bounds(tensor, result)
    number = number if isinstance(op, ast.Add) else -number
    result.low = None if result.low is None else result.low + number
    result.high = None if result.high is None else result.high + number
    result.padding = None


def promote_dtypes(left: str | None, right: str | None) -> str | None:
    if left == right or (left in FLOATS and right in INTEGRAL):
        return left
    if right in FLOATS and left in INTEGRAL:
        return right
    return "float64" if {left, right} == {"float32", "float64"} else None


def dtype_with_number(dtype: str | None, op: ast.operator, other: AbstractValue) -> str | None:
    if dtype in FLOATS:
        return dtype
    constant = isinstance(other, Constant) and isinstance(other.value, float)
    is_float = constant or isinstance(other, Real)
    if dtype in INTEGRAL and (isinstance(op, ast.Div) or is_float):
        return "float32"
    return dtype if dtype == "int64" and isinstance(other, Constant | Integer) else None


def unary(run: Evaluator, op: ast.unaryop, value: AbstractValue, node: ast.AST) -> AbstractValue:
    if isinstance(value, Constant):
        if isinstance(op, ast.Not):
            return Constant(not value.value)
        if isinstance(value.value, int | float):
            sign = -1 if isinstance(op, ast.USub) else 1
            if isinstance(op, ast.USub | ast.UAdd):
                return Constant(sign * value.value, node)
        return UNKNOWN
    if isinstance(op, ast.Not):
        known = truth_of(value)
        return UNKNOWN if known is None else Constant(not known)
    if isinstance(value, TensorValue) and not value.is_array:
        if isinstance(op, ast.Invert):
            return without_graph(value, node, value.shape, value.dtype)
        result = operation_result(run, node, value.shape, [value], value.dtype, keeps=False)
        result.source_layer, result.unreduced = value.source_layer, value.unreduced
        return result
    return Integer() if isinstance(value, Integer) else UNKNOWN


COMPARES: dict[type[ast.cmpop], Callable[..., object]] = {
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
    return apply(COMPARES[type(op)], (left, right))


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
