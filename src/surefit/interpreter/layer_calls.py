"""Layers of `torch.nn`: calling them."""

import ast
from dataclasses import replace

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.backward import bump_version
from surefit.interpreter.elementwise import same_shape
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import KEEPS_WEIGHTS, operation_result
from surefit.interpreter.layer_shapes import output_shape
from surefit.interpreter.layer_tables import (
    LOSS_LAYERS,
    RECURRENT_KINDS,
    SHAPE_PRESERVING,
    has_weights,
)
from surefit.interpreter.losses import compute_loss, loss_arguments
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.shapes import Shape
from surefit.interpreter.value_queries import is_true, items_of, origin_of_dtype, sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    LayerValue,
    TensorValue,
    Unknown,
)
from surefit.interpreter.violations import InferenceTensorInTraining, LayerDtypeMismatch


def call_layer(
    run: Evaluator, layer: LayerValue, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if layer.escaped:
        return UNKNOWN
    if layer.kind in ("Sequential", "DataParallel"):
        return call_children(run, layer, arguments, node)
    if layer.kind in LOSS_LAYERS:
        function, values = LOSS_LAYERS[layer.kind], loss_arguments(layer, arguments)
        return compute_loss(run, function, values, node, layer)
    known = isinstance(arguments.first, TensorValue)
    tensor = TensorValue() if isinstance(arguments.first, Unknown) else arguments.first
    if not arguments.positional or not isinstance(tensor, TensorValue):
        return UNKNOWN
    if layer.kind in SHAPE_PRESERVING:
        if layer.kind == "ReLU" and is_true(layer.arguments.get("inplace")):
            bump_version(run, tensor, node)
        return same_shape(run, SHAPE_PRESERVING[layer.kind], tensor, node) if known else UNKNOWN
    shape = output_shape(run, layer, tensor, node)
    if shape is None:
        return UNKNOWN
    check_input(run, layer, tensor, node)
    dtype = layer.dtype if has_weights(layer) else tensor.dtype
    if run.autocast is not False:
        dtype = None
    nodes = [arguments.nodes.get(0)]
    result = operation_result(run, node, shape, [tensor], dtype, layer=layer, nodes=nodes)
    if not has_weights(layer):
        result.source_layer, result.unreduced = tensor.source_layer, tensor.unreduced
    if layer.kind in ("Linear", "Embedding"):
        result.strides = contiguous(shape)
    if layer.kind in RECURRENT_KINDS:
        return recurrent_result(run, layer, arguments, result, node)
    if layer.kind == "MultiheadAttention":
        return sequence("tuple", (result, UNKNOWN))
    return result


def call_children(
    run: Evaluator, layer: LayerValue, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    current = on_any_device(arguments) if layer.kind == "DataParallel" else arguments
    result: AbstractValue = UNKNOWN
    run.sites.append(node)
    for child in layer.children.values():
        place = child.node if isinstance(child, LayerValue) else node
        result = run.call(child, current, place)
        current = Arguments([result], {}, {0: place})
    run.sites.pop()
    return result


def on_any_device(arguments: Arguments) -> Arguments:
    """What `DataParallel` is given it moves itself."""
    positional = [
        replace(value, device=None) if isinstance(value, TensorValue) else value
        for value in arguments.positional
    ]
    return Arguments(positional, arguments.named, arguments.nodes, arguments.open)


def recurrent_result(
    run: Evaluator, layer: LayerValue, arguments: Arguments, output: TensorValue, node: ast.AST
) -> AbstractValue:
    """The output and the state, which continues the state that is passed."""
    before = arguments.get("hx", 1, Constant(None))
    values = (arguments.first, *(items_of(before) or (before,)))
    inputs = [value for value in values if isinstance(value, TensorValue)]
    width = layer.number("hidden_size")
    projected = "proj_size" in layer.arguments
    output = operation_result(run, node, output.shape, inputs, output.dtype, layer=layer)
    cell = replace(output, shape=Shape((width,), True))
    state = replace(output, shape=Shape((None if projected else width,), True))
    if layer.kind != "LSTM":
        return sequence("tuple", (output, state))
    return sequence("tuple", (output, sequence("tuple", (state, cell))))


def check_input(run: Evaluator, layer: LayerValue, tensor: TensorValue, node: ast.AST) -> None:
    multiplies = layer.kind in KEEPS_WEIGHTS
    compares = run.autocast is False and (multiplies or layer.kind in RECURRENT_KINDS)
    known = None not in (layer.dtype, tensor.dtype)
    if compares and known and tensor.dtype != layer.dtype:
        run.report(LayerDtypeMismatch(node, origin_of_dtype(tensor) or node, layer, tensor))
    learns = layer.trainable is True and run.graphs.recording is True
    if tensor.inference is not None and learns and multiplies:
        run.report(InferenceTensorInTraining(node, tensor.inference, layer, tensor))
