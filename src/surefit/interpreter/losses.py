"""Losses: what they take, and what they return."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.shapes import ANY, SCALAR, broadcast
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, LayerValue, TensorValue
from surefit.interpreter.violations import LossInputs, LossShapeMismatch

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


BINARY_LOSSES = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
ELEMENTWISE_LOSSES = {
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss"),
    *BINARY_LOSSES,
}
CLASS_LOSSES = {"cross_entropy", "nll_loss"}
LOSS_FUNCTIONS = {*ELEMENTWISE_LOSSES, *CLASS_LOSSES}


def compute_loss(
    run: "Evaluator", name: str, arguments: Arguments, node: ast.AST, layer: LayerValue | None
) -> TensorValue:
    values = arguments.get("input", 0, UNKNOWN), arguments.get("target", 1, UNKNOWN)
    predictions, target = (
        value if isinstance(value, TensorValue) else TensorValue(ANY) for value in values
    )
    nodes = arguments.node("input", 0, node), arguments.node("target", 1, node)
    inputs = LossInputs(name, predictions, nodes[0], target, nodes[1])
    shape = broadcast(predictions.shape, target.shape)
    if name in ELEMENTWISE_LOSSES and shape is None:
        run.report(LossShapeMismatch(node, inputs))
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
    named: dict[str, AbstractValue] = {
        key: layer.arguments[key] for key in ("reduction", "weight") if key in layer.arguments
    }
    if any(key in layer.arguments for key in ("size_average", "reduce")):
        named["reduction"] = UNKNOWN
    nodes, is_open = arguments.nodes, arguments.open
    return Arguments(arguments.positional, {**named, **arguments.named}, nodes, is_open)
