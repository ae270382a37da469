"""Losses: what they take, and what they return."""

import ast

from surefit.interpreter.contracts.losses import (
    AxesFault,
    LossInputs,
    loss_shape,
    target_axes,
    target_dtype,
)
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.shapes import ANY, SCALAR, broadcast
from surefit.interpreter.value_queries import Arguments, is_array, origin_of_dtype, origin_of_width
from surefit.interpreter.values import UNKNOWN, Constant, LayerValue, TensorValue

BINARY_LOSSES = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
CLASS_LOSSES = {"cross_entropy", "nll_loss"}
NO_CLASS_INDEX = ("float16", "bfloat16", "float32", "float64", "int32", "bool")
NO_PROBABILITY = ("int64", "int32", "bool")


def check_loss(run: Evaluator, inputs: LossInputs, node: ast.AST) -> None:
    fault = axes_fault(inputs)
    takes = dtype_needed(inputs)
    shapes = inputs.predictions.shape, inputs.target.shape
    if fault is not None:
        run.report(target_axes, node, birth_of_axes(inputs, fault), inputs, fault)
    elif takes is not None:
        birth = origin_of_dtype(inputs.target) or inputs.target_node
        run.report(target_dtype, node, birth, inputs, takes)
    elif inputs.function not in CLASS_LOSSES and broadcast(*shapes) is None:
        birth = origin_of_width(inputs.target) or inputs.target_node
        run.report(loss_shape, node, birth, inputs)


def birth_of_axes(inputs: LossInputs, fault: AxesFault) -> ast.AST:
    predictions, target = inputs.tensors
    match fault:
        case "one hot" if target.one_hot is not None:
            return target.one_hot
        case "flattened":
            return target.flattened or predictions.flattened or inputs.target_node
        case "classes last":
            return predictions.node or inputs.predictions_node
    return target.node or inputs.target_node


def axes_fault(inputs: LossInputs) -> AxesFault | None:
    if inputs.function in CLASS_LOSSES:
        return class_axes_fault(inputs.predictions, inputs.target)
    left, right = inputs.predictions.shape, inputs.target.shape
    if left.more or right.more or abs(len(left.sizes) - len(right.sizes)) != 1:
        return None
    longer, shorter = sorted((left.sizes, right.sizes), key=len, reverse=True)
    if len(shorter) == 1 and longer[-1] == 1 and shorter[0] != 1:
        return "square"
    width = left.size(1)
    many = right.rank == 1 and isinstance(width, int) and width > 1
    return "indices" if many and inputs.function in BINARY_LOSSES else None


def class_axes_fault(predictions: TensorValue, target: TensorValue) -> AxesFault | None:
    ranks = predictions.shape.rank, target.shape.rank
    if target.dtype != "int64":
        return None
    if target.one_hot is not None and (None in ranks or ranks[0] == ranks[1]):
        return "one hot"
    has_classes_last = predictions.source_layer is not None
    steps, classes = predictions.shape.size(-2), predictions.shape.size(-1)
    if ranks == (2, 2):
        if target.shape.size(1) == 1:
            return "column" if isinstance(classes, int) and classes != 1 else None
        return "flattened" if predictions.flattened is not None else None
    if ranks == (3, 1) and target.flattened is not None and has_classes_last:
        return "flattened"
    square = isinstance(steps, int) and steps == classes
    return "classes last" if ranks == (3, 2) and has_classes_last and not square else None


def dtype_needed(inputs: LossInputs) -> str | None:
    """None where the dtype is right, or is not known."""
    left, right = inputs.predictions.shape.rank, inputs.target.shape.rank
    dtype = inputs.target.dtype
    if left is None or right is None:
        return None
    if inputs.function in BINARY_LOSSES and left == right and dtype in NO_PROBABILITY:
        return inputs.predictions.dtype or "float32"
    if inputs.function in CLASS_LOSSES and right == left - 1 and dtype in NO_CLASS_INDEX:
        return "int64"
    return None


ELEMENTWISE_LOSSES = {
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss"),
    *BINARY_LOSSES,
}
LOSS_FUNCTIONS = {*ELEMENTWISE_LOSSES, *CLASS_LOSSES}


def compute_loss(
    run: Evaluator, name: str, arguments: Arguments, node: ast.AST, layer: LayerValue | None
) -> TensorValue:
    values = arguments.get("input", 0, UNKNOWN), arguments.get("target", 1, UNKNOWN)
    predictions, target = (
        value if isinstance(value, TensorValue) else TensorValue(ANY) for value in values
    )
    nodes = arguments.node("input", 0, node), arguments.node("target", 1, node)
    inputs = LossInputs(name, predictions, nodes[0], target, nodes[1])
    shape = broadcast(predictions.shape, target.shape)
    if not any(is_array(value) for value in values):
        check_loss(run, inputs, node)
    reduction = arguments.get("reduction", None, Constant("mean"))
    legacy = any(key in arguments.named for key in ("size_average", "reduce"))
    if legacy or arguments.open or not isinstance(reduction, Constant):
        return operation_result(run, node, ANY, (predictions, target), None)
    unreduced = (shape or ANY) if name in ELEMENTWISE_LOSSES else target.shape
    result_shape = unreduced if reduction.value == "none" else SCALAR
    result = operation_result(run, node, result_shape, (predictions, target), None, nodes=nodes)
    if result_shape.rank != 0:
        result.unreduced = layer.node if layer is not None else node
    return result


def loss_arguments(layer: LayerValue, arguments: Arguments) -> Arguments:
    """The arguments of a loss's function, from the layer and the call."""
    settings = layer.arguments
    named = {key: value for key, value in settings.items() if key in ("reduction", "ignore_index")}
    if any(key in settings for key in ("size_average", "reduce")):
        named["reduction"] = UNKNOWN
    nodes, is_open = arguments.nodes, arguments.open
    return Arguments(arguments.positional, {**named, **arguments.named}, nodes, is_open)
