"""Losses: what they take, and what they return."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.loss_checks import BINARY_LOSSES, CLASS_LOSSES, IGNORED, check_loss
from surefit.interpreter.shapes import ANY, SCALAR, broadcast
from surefit.interpreter.value_queries import is_array
from surefit.interpreter.values import UNKNOWN, Constant, LayerValue, TensorValue
from surefit.interpreter.violations import LossInputs

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


ELEMENTWISE_LOSSES = {
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss"),
    *BINARY_LOSSES,
}
LOSS_FUNCTIONS = {*ELEMENTWISE_LOSSES, *CLASS_LOSSES}


def compute_loss(
    run: "Evaluator", name: str, arguments: Arguments, node: ast.AST, layer: LayerValue | None
) -> TensorValue:
    values = arguments.get("input", 0, UNKNOWN), arguments.get("target", 1, UNKNOWN)
    predictions, target = (
        value if isinstance(value, TensorValue) else TensorValue(ANY) for value in values
    )
    nodes = arguments.node("input", 0, node), arguments.node("target", 1, node)
    inputs = LossInputs(name, predictions, nodes[0], target, nodes[1], layer)
    shape = broadcast(predictions.shape, target.shape)
    if not any(is_array(value) for value in values):
        check_loss(run, inputs, arguments.number("ignore_index", None, IGNORED), node)
    reduction = arguments.get("reduction", None, Constant("mean"))
    legacy = any(key in arguments.named for key in ("size_average", "reduce"))
    if legacy or arguments.open or not isinstance(reduction, Constant):
        return operation_result(run, node, ANY, (predictions, target), None)
    if reduction.value != "none":
        result_shape = SCALAR
    else:
        result_shape = (shape or ANY) if name in ELEMENTWISE_LOSSES else target.shape
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
