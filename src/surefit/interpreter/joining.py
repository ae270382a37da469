"""Tensors that are concatenated, stacked, added or multiplied."""

import ast
from collections.abc import Sequence
from typing import Literal

from surefit.interpreter.contracts.shapes import inner_sizes, sizes_differ
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.operation_calls import OperationCall
from surefit.interpreter.reshaping import with_axis
from surefit.interpreter.shapes import (
    ANY,
    MISMATCH,
    Shape,
    Size,
    broadcast,
    broadcast_size,
    with_last_size,
)
from surefit.interpreter.value_queries import Arguments, items_of, origin_of_width
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    NodePair,
    TensorPair,
    TensorValue,
    integer_of,
)


def concatenate(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    values = items_of(arguments.get("tensors", 0, UNKNOWN)) or ()
    parts = [value for value in values if isinstance(value, TensorValue)]
    if not parts or len(parts) != len(values):
        # a graph is there if one part has one; everything else is not known
        with_graph = any(part.graph for part in parts)
        return operation_result(run, node, ANY, parts, None, keeps=False) if with_graph else UNKNOWN
    nodes = part_nodes(arguments, parts, node)
    axis = arguments.number("dim", 1, None)
    if axis is None and "dim" not in arguments.named and len(arguments.positional) < 2:
        axis = integer_of(arguments.named.get("axis", Constant(0)))
    if name in ("hstack", "vstack") or axis is None:
        return operation_result(run, node, ANY, parts, parts[0].dtype)
    how: Literal["stack", "cat"] = "stack" if name == "stack" else "cat"
    shape = parts[0].shape
    for part, part_node in zip(parts[1:], nodes[1:], strict=True):
        joined = joined_shape(shape, part.shape, None if how == "stack" else axis)
        if isinstance(joined, int):
            pair, at = (parts[0], part), (nodes[0], part_node)
            birth = origin_of_width(part) or node
            run.report(sizes_differ, node, birth, how, pair, at, joined)
            joined = ANY
        shape = joined
    if how == "stack":
        shape = with_axis(shape, axis, len(parts))
    result = operation_result(run, node, shape, parts, parts[0].dtype, keeps=False, nodes=nodes)
    result.strides = contiguous(shape)
    return result


def part_nodes(arguments: Arguments, parts: Sequence[TensorValue], node: ast.AST) -> list[ast.AST]:
    written = arguments.node("tensors", 0, node)
    if isinstance(written, ast.List | ast.Tuple) and len(written.elts) == len(parts):
        return list(written.elts)
    return [part.node or node for part in parts]


def joined_shape(left: Shape, right: Shape, axis: int | None) -> Shape | int:
    """The shape of what is joined along an axis; the axis that differs where it must be equal."""
    if left.more or right.more or len(left.sizes) != len(right.sizes):
        length = min(len(left.sizes), len(right.sizes))
        if not length or (axis is not None and axis >= 0):
            return ANY
        left, right = Shape(left.sizes[-length:], True), Shape(right.sizes[-length:], True)
    joined_at = None if axis is None else left.place(axis)
    if axis is not None and joined_at is None:
        return ANY
    sizes: list[Size] = []
    for at, (size, other) in enumerate(zip(left.sizes, right.sizes, strict=True)):
        both = isinstance(size, int) and isinstance(other, int)
        if at == joined_at:
            sizes.append(size + other if isinstance(size, int) and isinstance(other, int) else None)
        elif both and size != other:
            return at - len(left.sizes)
        else:
            sizes.append(size if isinstance(size, int) or size == other else other)
    return Shape(tuple(sizes), left.more)


def combine(
    run: Evaluator,
    tensors: TensorPair,
    nodes: NodePair,
    node: ast.AST,
    dtype: str | None,
    keeps: bool,
) -> TensorValue:
    """A sum, a difference, a product entry by entry."""
    left, right = tensors
    shape = broadcast(left.shape, right.shape)
    if shape is None:
        sizes = (
            (axis, broadcast_size(left.shape, right.shape, axis)) for axis in range(-1, -99, -1)
        )
        axis = next(axis for axis, size in sizes if size == MISMATCH)
        birth = origin_of_width(right) or node
        run.report(sizes_differ, node, birth, "sum", tensors, nodes, axis)
    result = operation_result(run, node, shape or ANY, tensors, dtype, keeps=keeps, nodes=nodes)
    result.unreduced = left.unreduced or right.unreduced
    width = result.shape.size(-1)
    layers = [side.source_layer for side in (right, left) if side.shape.size(-1) == width]
    result.source_layer = next((layer for layer in layers if layer is not None), None)
    return result


def matmul(call: OperationCall) -> AbstractValue:
    arguments, node = call.arguments, call.node
    other = arguments.get("other", 1, arguments.named.get("mat2", UNKNOWN))
    if not isinstance(other, TensorValue):
        return UNKNOWN
    nodes = arguments.node("input", 0, node), arguments.node("other", 1, node)
    return matrix_product(call.run, (call.tensor, other), nodes, node)


def matrix_product(
    run: Evaluator, tensors: TensorPair, nodes: NodePair, node: ast.AST
) -> TensorValue:
    left, right = (tensor.shape for tensor in tensors)
    dtype = tensors[0].dtype
    if right.rank == 1 and left.has(-1):
        return operation_result(run, node, Shape(left.sizes[:-1], left.more), tensors, dtype)
    vectors = any(shape.rank is not None and shape.rank < 2 for shape in (left, right))
    if vectors or not left.has(-1) or not right.has(-2):
        return operation_result(run, node, ANY, tensors, dtype)
    inner, outer = left.size(-1), right.size(-2)
    if isinstance(inner, int) and isinstance(outer, int) and inner != outer:
        run.report(inner_sizes, node, tensors[1].node or node, tensors, nodes)
        return operation_result(run, node, ANY, tensors, dtype)
    shape = Shape((None, right.size(-1)), True)
    if left.has(-2):
        batches = Shape(left.sizes[:-2], left.more), Shape(right.sizes[:-2], right.more)
        before = broadcast(*batches) or ANY
        shape = Shape((*before.sizes, left.size(-2), right.size(-1)), before.more)
    result = operation_result(run, node, shape, tensors, dtype, nodes=nodes)
    result.strides = contiguous(shape)
    return result


def linear(call: OperationCall) -> AbstractValue:
    weight = call.arguments.get("weight", 1, UNKNOWN)
    if not isinstance(weight, TensorValue):
        return UNKNOWN
    width = weight.shape.size(0) if weight.shape.rank == 2 else None
    return call.result(with_last_size(call.tensor.shape, width), weight)
