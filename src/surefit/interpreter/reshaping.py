"""Operations that keep the numbers and change the shape or the order of axes."""

import ast
from collections.abc import Sequence

from surefit.interpreter.contracts.shapes import element_count, not_contiguous
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.memory_layout import cannot_view, contiguous
from surefit.interpreter.operation_calls import OperationCall, view_tensor
from surefit.interpreter.shapes import ANY, Shape, Size, product, reshape_shape, single_size
from surefit.interpreter.value_queries import sequence, size_value
from surefit.interpreter.values import UNKNOWN, AbstractValue, Integer, ShapeValue, TensorValue


def view(call: OperationCall) -> TensorValue:
    run, tensor, node = call.run, call.tensor, call.node
    target = call.sizes("shape")
    if target is None:
        return call.view(ANY)
    shape = reshape_shape(tensor.shape, target)
    if isinstance(node, ast.Call):
        is_view = isinstance(node.func, ast.Attribute) and node.func.attr == "view"
        if is_view and tensor.cause is not None and cannot_view(tensor, target):
            run.report(not_contiguous, node, tensor.cause, tensor)
        if shape is None:
            run.report(element_count, node, node, tensor, target, node.args)
            shape = Shape(tuple(None if size == -1 else size for size in target))
    result = call.view(shape or ANY)
    if len(target) < (tensor.shape.rank or 0):
        result.flattened = node
    if tensor.strides is not None and tensor.cause is None:
        result.strides = contiguous(result.shape)
    return result


def flatten(call: OperationCall) -> TensorValue:
    start, stop = call.arguments.number("start_dim", 1, 0), call.arguments.number("end_dim", 2, -1)
    shape = flatten_shape(call.tensor.shape, start, stop)
    if (start, stop) == (0, -1):
        shape = shape if shape.rank == 1 else Shape((None,))
    result = call.view(shape)
    if result.shape.rank != call.tensor.shape.rank or result.shape.rank is None:
        result.flattened = call.node
    return result


def flatten_shape(shape: Shape, start: int | None, stop: int | None) -> Shape:
    if start is None or stop is None or shape.more:
        return ANY
    first, last = shape.place(start), shape.place(stop)
    if not shape.sizes and start in (0, -1):
        return Shape((1,))
    if first is None or last is None or first > last:
        return ANY
    between = single_size(product(shape.sizes[first : last + 1]))
    return Shape((*shape.sizes[:first], between, *shape.sizes[last + 1 :]))


def squeeze(call: OperationCall) -> TensorValue:
    axis = call.arguments.number("dim", 1, None)
    shape, result = call.tensor.shape, ANY
    if not call.has_dim and shape.elements is not None:
        result = Shape(tuple(size for size in shape.sizes if size != 1))
    elif axis is not None and isinstance(shape.size(axis), int):
        result = shape.without([axis]) if shape.size(axis) == 1 else shape
    squeezed = call.view(result)
    squeezed.source_layer = None
    return squeezed


def unsqueeze(call: OperationCall) -> TensorValue:
    axis = call.arguments.number("dim", 1, None)
    shape = call.tensor.shape
    return call.view(ANY if axis is None else with_axis(shape, axis, 1))


def with_axis(shape: Shape, axis: int, size: Size) -> Shape:
    """A shape with a new axis before the one at `axis`."""
    at = axis + len(shape.sizes) + 1 if axis < 0 else axis
    if (axis >= 0 and shape.more) or not 0 <= at <= len(shape.sizes):
        return ANY
    return Shape((*shape.sizes[:at], size, *shape.sizes[at:]), shape.more)


def expand(call: OperationCall) -> TensorValue:
    target = call.sizes("size")
    if target is None:
        return call.view(ANY)
    shape = call.tensor.shape
    sizes = [shape.size(at - len(target)) if size == -1 else size for at, size in enumerate(target)]
    result = call.view(Shape(tuple(sizes)))
    result.source_layer = call.tensor.source_layer
    result.rows_alike = shape.rank is not None and len(target) > shape.rank
    return result


def tensor_size(call: OperationCall) -> AbstractValue:
    if not call.has_dim:
        return ShapeValue(call.tensor)
    axis = call.arguments.number("dim", 1, None)
    return Integer() if axis is None else size_value(call.tensor.shape.size(axis))


def transpose(call: OperationCall) -> TensorValue:
    first, second = call.arguments.number("dim0", 1, None), call.arguments.number("dim1", 2, None)
    if len(call.arguments.values) == 1:  # `.t()`
        first, second = -1, -2
    if first is None or second is None:
        return call.view(ANY)
    return swap_axes(call.run, call.tensor, first, second, call.node)


def swap_axes(
    run: Evaluator, tensor: TensorValue, first: int, second: int, node: ast.AST
) -> TensorValue:
    shape = tensor.shape
    here, there = shape.place(first), shape.place(second)
    if here is None or there is None:
        return without_layer(view_tensor(run, tensor, ANY, node))
    order = list(range(len(shape.sizes)))
    order[here], order[there] = there, here
    return reorder_axes(run, tensor, order, node)


def permute(call: OperationCall) -> TensorValue:
    order, shape = call.sizes("dims"), call.tensor.shape
    axes = [shape.place(axis) for axis in order or () if isinstance(axis, int)]
    places = [axis for axis in axes if axis is not None]
    if shape.more or len(places) != len(shape.sizes):
        unknown = Shape((None,) * len(order)) if order else ANY
        return without_layer(view_tensor(call.run, call.tensor, unknown, call.node))
    return reorder_axes(call.run, call.tensor, places, call.node)


def reorder_axes(
    run: Evaluator, tensor: TensorValue, order: Sequence[int], node: ast.AST
) -> TensorValue:
    sizes = tuple(tensor.shape.sizes[at] for at in order)
    result = without_layer(view_tensor(run, tensor, Shape(sizes, tensor.shape.more), node))
    if tensor.strides is not None and len(order) == len(tensor.strides):
        result.strides, result.cause = tuple(tensor.strides[at] for at in order), node
    return result


def without_layer(tensor: TensorValue) -> TensorValue:
    tensor.source_layer = None
    return tensor


def chunk(call: OperationCall) -> AbstractValue:
    count, axis = call.arguments.number("chunks", 1, None), call.arguments.number("dim", 2, 0)
    if count is None or axis is None or count > 16:
        return UNKNOWN
    size = call.tensor.shape.size(axis)
    even = isinstance(size, int) and count > 0 and size % count == 0
    part = size // count if even and isinstance(size, int) else None
    shape = call.tensor.shape.with_size(axis, part)
    return sequence("tuple", [without_layer(call.view(shape)) for _ in range(count)])


def split(call: OperationCall) -> AbstractValue:
    length = call.arguments.number("split_size_or_sections", 1, None)
    length = length or call.arguments.number("split_size", 1, None)
    axis = call.arguments.number("dim", 2, 0)
    if axis is None or not length:
        return UNKNOWN
    size = call.tensor.shape.size(axis)
    if not isinstance(size, int):
        return sequence("tuple", None)
    sizes = [min(length, size - at) for at in range(0, size, length)]
    if len(sizes) > 16:
        return UNKNOWN
    parts = [without_layer(call.view(call.tensor.shape.with_size(axis, part))) for part in sizes]
    for part in parts:
        if not part.everywhere:
            part.low = part.high = None
    return sequence("tuple", parts)
