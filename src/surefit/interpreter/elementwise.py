"""Operations that keep a tensor's shape, or add an axis of classes to it."""

import ast
from dataclasses import replace

from surefit.interpreter.contracts.shapes import mask_axes
from surefit.interpreter.devices import dtype_named, move_target
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import graph_of, operation_result
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.operation_calls import OperationCall, cast_tensor, copy_bounds, copy_tensor
from surefit.interpreter.shapes import ANY, SCALAR, Shape, broadcast
from surefit.interpreter.value_queries import Arguments
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    DeviceValue,
    TensorValue,
    Unknown,
)

KEEPS_RESULT = {"sigmoid", "tanh", "exp", "softmax", "log_softmax", "sqrt", "relu", "rsqrt"}
KEEPS_NOTHING = ("contiguous", "identity", "clone", "dropout", "neg", "cumsum", "flip")
SAME_NUMBERS = ("contiguous", "clone", "identity")


def same_shape(run: Evaluator, name: str, tensor: TensorValue, node: ast.AST) -> TensorValue:
    keeps, keeps_result = name not in KEEPS_NOTHING, name in KEEPS_RESULT
    shape, dtype = tensor.shape, tensor.dtype
    result = operation_result(
        run, node, shape, [tensor], dtype, keeps=keeps, keeps_result=keeps_result
    )
    result.source_layer, result.unreduced = tensor.source_layer, tensor.unreduced
    if name in SAME_NUMBERS:
        copy_bounds(tensor, result)
    if name == "contiguous":
        result.strides = contiguous(result.shape)
    elif name == "identity":
        result.strides, result.cause = tensor.strides, tensor.cause
    return result


def power(call: OperationCall) -> TensorValue:
    if isinstance(call.arguments.get("exponent", 1, UNKNOWN), Constant):
        return same_shape(call.run, "pow", call.tensor, call.node)
    return call.result(ANY, TensorValue())


def choose_where(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    values = arguments.positional
    tensors = [value for value in values if isinstance(value, TensorValue)]
    if len(values) != 3 or any(isinstance(value, Unknown) for value in values):
        return UNKNOWN
    shape: Shape = SCALAR
    for tensor in tensors:
        shape = broadcast(shape, tensor.shape) or ANY
    return operation_result(run, node, shape, tensors[-2:], None)


def masked_fill(call: OperationCall) -> TensorValue:
    tensor, arguments = call.tensor, call.arguments
    mask = arguments.get("mask", 1, UNKNOWN)
    if isinstance(mask, TensorValue):
        mask_node = arguments.node("mask", 1, call.node)
        if broadcast(tensor.shape, mask.shape) is None:
            birth = mask.node or mask_node
            call.run.report(mask_axes, call.node, birth, tensor, mask, mask_node)
        inputs, nodes = (tensor, mask), (arguments.nodes.get(0), mask_node)
        shape, dtype = tensor.shape, tensor.dtype
        result = operation_result(call.run, call.node, shape, inputs, dtype, nodes=nodes)
        result.graph = tensor.graph
    else:
        result = call.result(tensor.shape)
    result.source_layer = tensor.source_layer
    return result


def glu(call: OperationCall) -> TensorValue:
    axis = call.arguments.number("dim", 1, -1)
    if axis is None:
        return call.result(ANY)
    size = call.tensor.shape.size(axis)
    half = size // 2 if isinstance(size, int) else None
    return call.result(call.tensor.shape.with_size(axis, half))


def tensor_like(call: OperationCall) -> TensorValue:
    tensor, named = call.tensor, call.arguments.named
    dtype = dtype_named(named["dtype"]) if "dtype" in named else tensor.dtype
    device = None if "device" in named else tensor.device
    node = call.node
    return TensorValue(tensor.shape, dtype, graph=False, node=node, dtype_at=node, device=device)


def embedding(call: OperationCall) -> TensorValue:
    weight = call.arguments.get("weight", 1, UNKNOWN)
    table = weight if isinstance(weight, TensorValue) else TensorValue()
    shape = Shape((*call.tensor.shape.sizes, table.shape.size(-1)), call.tensor.shape.more)
    return operation_result(call.run, call.node, shape, [table], None)


def one_hot(call: OperationCall) -> TensorValue:
    classes = call.arguments.number("num_classes", 1, None)
    width = None if classes == -1 else classes
    shape = Shape((*call.tensor.shape.sizes, width), call.tensor.shape.more)
    result = call.without_graph(shape, "int64")
    result.one_hot, result.source_layer = call.node, None
    return result


def detach(call: OperationCall) -> AbstractValue:
    if call.name == "detach_":
        call.run.set(call.tensor, "grad_switched", True)
    if call.name == "item":
        return call.without_graph(SCALAR, None) if graph_of(call.tensor) else UNKNOWN
    result = call.without_graph(call.tensor.shape, call.tensor.dtype)
    copy_bounds(call.tensor, result)
    result.unreduced = call.tensor.unreduced
    return result


def requires_grad_(call: OperationCall) -> TensorValue:
    run, tensor = call.run, call.tensor
    run.set(tensor, "grad_switched", True)
    if tensor.weight_of is not None:
        run.set(tensor.weight_of, "trainable", None)
    flag = call.arguments.flag("requires_grad", 1, True)
    if tensor.registered or tensor.graph is not False or not flag:
        return tensor
    result = replace(tensor, graph=True, leaf=True)
    result.grad_switched, result.modified = True, tensor.modified
    result.view_of, result.rows_alike = tensor.view_of, tensor.rows_alike
    return result


def tensor_to(call: OperationCall) -> TensorValue:
    run, tensor, node = call.run, call.tensor, call.node
    device, dtype = move_target(call.arguments.after_first())
    result = cast_tensor(run, tensor, dtype, node) if dtype else copy_tensor(run, tensor, node)
    if dtype == "":
        result.dtype = None
    if device is not None:
        result.device = device if isinstance(device, DeviceValue) else None
    return result


def moved(call: OperationCall, device: DeviceValue) -> TensorValue:
    result = copy_tensor(call.run, call.tensor, call.node)
    result.device = device
    return result
