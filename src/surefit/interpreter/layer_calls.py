"""Layers of `torch.nn`: calling them."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.interpreter.backward import bump_version
from surefit.interpreter.contracts.graphs import inference_tensor_kept
from surefit.interpreter.contracts.mixed_operands import two_dtypes
from surefit.interpreter.contracts.shapes import layer_width
from surefit.interpreter.contracts.tables import outside_table
from surefit.interpreter.elementwise import same_shape
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import KEEPS_WEIGHTS, operation_result
from surefit.interpreter.layer_tables import (
    LOSS_LAYERS,
    RECURRENT_KINDS,
    SHAPE_PRESERVING,
    has_weights,
    normalized_sizes,
    per_axis,
)
from surefit.interpreter.losses import compute_loss, loss_arguments
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.reshaping import flatten_shape
from surefit.interpreter.shapes import (
    Shape,
    Size,
    transposed_window_size,
    window_size,
    with_last_size,
)
from surefit.interpreter.value_queries import (
    Arguments,
    is_none,
    is_true,
    items_of,
    origin_of,
    origin_of_dtype,
    origin_of_width,
    sequence,
)
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    LayerValue,
    TensorValue,
    Unknown,
    integer_of,
)


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
        run.report(two_dtypes, node, origin_of_dtype(tensor) or node, layer, tensor)
    learns = layer.trainable is True and run.graphs.recording is True
    if tensor.inference is not None and learns and multiplies:
        run.report(inference_tensor_kept, node, tensor.inference, layer)


WIDTHS = {
    "Linear": ("in_features", "out_features"),
    "TransformerEncoderLayer": ("d_model", "d_model"),
    "TransformerDecoderLayer": ("d_model", "d_model"),
    "MultiheadAttention": ("embed_dim", "embed_dim"),
}


def output_shape(
    run: Evaluator, layer: LayerValue, tensor: TensorValue, node: ast.AST
) -> Shape | None:
    """None where what a layer gives is not known."""
    number, shape = layer.number, tensor.shape
    match layer.kind:
        case kind if kind in WIDTHS:
            takes, gives = WIDTHS[kind]
            check_width(run, layer, tensor, -1, number(takes), node)
            return with_last_size(shape, number(gives))
        case "Embedding":
            check_lookup(run, layer, tensor, node)
            return Shape((*shape.sizes, number("embedding_dim")), shape.more)
        case "LayerNorm" | "RMSNorm":
            for at, size in enumerate(reversed(normalized_sizes(layer)), start=1):
                if isinstance(size, int):
                    check_width(run, layer, tensor, -at, size, node)
            return shape
        case "Conv1d" | "Conv2d" | "Conv3d":
            return convolution_shape(run, layer, tensor, node)
        case "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d":
            return convolution_shape(run, layer, tensor, node, transposed=True)
        case "BatchNorm2d" | "BatchNorm3d":
            axis = -3 if layer.kind == "BatchNorm2d" else -4
            check_width(run, layer, tensor, axis, number("num_features"), node)
            return shape
        case "BatchNorm1d":
            if shape.rank in (2, 3):
                check_width(run, layer, tensor, 1, number("num_features"), node)
            return shape
        case "GroupNorm":
            if shape.rank is not None and shape.rank > 1:
                check_width(run, layer, tensor, 1, number("num_channels"), node)
            return shape
        case kind if kind in RECURRENT_KINDS:
            check_width(run, layer, tensor, -1, number("input_size"), node)
            return recurrent_shape(layer, shape)
        case "TransformerEncoder":
            inner = layer.arguments["encoder_layer"]
            return output_shape(run, inner, tensor, node) if isinstance(inner, LayerValue) else None
        case "Flatten":
            start = integer_of(layer.arguments.get("start_dim", Constant(1)))
            stop = integer_of(layer.arguments.get("end_dim", Constant(-1)))
            return flatten_shape(shape, start, stop)
    if "Pool" in layer.kind:
        return pooling_shape(layer, shape)
    return None


def check_width(
    run: Evaluator,
    layer: LayerValue,
    tensor: TensorValue,
    axis: int,
    takes: int | None,
    node: ast.AST,
) -> bool:
    has = tensor.shape.size(axis)
    if takes is None or not isinstance(has, int) or has == takes:
        return True
    birth = origin_of_width(tensor) or node
    run.report(layer_width, node, birth, layer, tensor, axis, takes, has)
    return False


def convolution_shape(
    run: Evaluator, layer: LayerValue, tensor: TensorValue, node: ast.AST, transposed: bool = False
) -> Shape:
    axes, shape = int(layer.kind[-2]), tensor.shape
    if len(shape.sizes) >= axes + 1 or not shape.more:
        check_width(run, layer, tensor, -axes - 1, layer.number("in_channels"), node)
    sizes: list[Size] = []
    for at, window in enumerate(windows_of(layer, axes)):
        have, more = shape.size(at - axes), per_axis(layer, "output_padding", axes, 0)[at]
        if transposed:
            sizes.append(transposed_window_size(have, *window, more))
        else:
            sizes.append(window_size(have, *window))
    before = shape.sizes[: -axes - 1] if len(shape.sizes) > axes else ()
    unknown_rank = shape.more or len(shape.sizes) < axes + 1
    return Shape((*before, layer.number("out_channels"), *sizes), unknown_rank)


def windows_of(layer: LayerValue, axes: int) -> Iterator[tuple[Size, Size, Size, Size]]:
    """Kernel, stride, padding and dilation on each axis."""
    kernel = per_axis(layer, "kernel_size", axes, 1)
    stride = per_axis(layer, "stride", axes, 1)
    if "Pool" in layer.kind and is_none(layer.arguments.get("stride", Constant(None))):
        stride = kernel
    padding = per_axis(layer, "padding", axes, 0)
    return zip(kernel, stride, padding, per_axis(layer, "dilation", axes, 1), strict=True)


def pooling_shape(layer: LayerValue, shape: Shape) -> Shape | None:
    axes = int(layer.kind[-2])
    if len(shape.sizes) < axes:
        return Shape((None,) * axes, True) if shape.more else None
    before = shape.sizes[:-axes]
    if layer.kind.startswith("Adaptive"):
        if is_true(layer.arguments.get("return_indices")):
            return None
        return Shape((*before, *per_axis(layer, "output_size", axes, 1)), shape.more)
    if not set(layer.arguments) <= {"kernel_size", "stride", "padding"}:
        return Shape((*before, *(None,) * axes), shape.more)
    windows = enumerate(windows_of(layer, axes))
    sizes = [window_size(shape.size(at - axes), *window) for at, window in windows]
    return Shape((*before, *sizes), shape.more)


def recurrent_shape(layer: LayerValue, shape: Shape) -> Shape:
    hidden = layer.number("hidden_size")
    both = layer.arguments.get("bidirectional", Constant(False))
    if not isinstance(both, Constant) or "proj_size" in layer.arguments:
        hidden = None
    elif both.value and hidden is not None:
        hidden *= 2
    return with_last_size(shape, hidden)


def check_lookup(run: Evaluator, layer: LayerValue, tensor: TensorValue, node: ast.AST) -> None:
    rows = layer.number("num_embeddings")
    if rows is None:
        return
    if tensor.high is not None and tensor.high >= rows:
        birth = origin_of(layer.arguments.get("num_embeddings")) or layer.node
        run.report(outside_table, node, birth, layer, tensor, tensor.high)
    elif tensor.low is not None and tensor.low < 0:
        birth = tensor.padding or tensor.node or node
        run.report(outside_table, node, birth, layer, tensor, tensor.low)
