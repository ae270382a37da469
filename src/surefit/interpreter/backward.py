"""What `backward` and an optimizer's step do with graphs and weights."""

import ast
from typing import TYPE_CHECKING, Literal

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.graphs import FreedGraph, graph_of
from surefit.interpreter.layer_tables import has_weights
from surefit.interpreter.value_queries import is_none
from surefit.interpreter.values import (
    Constant,
    LayerValue,
    OptimizerValue,
    RecordedOperation,
    TensorValue,
)
from surefit.interpreter.violations import (
    BackwardOfNonScalar,
    BackwardWithoutGraph,
    GraphFreed,
    OptimizerWithoutGradients,
    SavedValueOverwritten,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def run_backward(
    run: "Evaluator", tensor: TensorValue, arguments: Arguments, node: ast.Call
) -> None:
    graph = graph_of(tensor)
    run.graphs.lost = run.graphs.lost or tensor.unsure or graph is None
    if graph is False and not tensor.leaf:
        run.report(BackwardWithoutGraph(node, tensor))
    if graph is not True:
        return
    if is_none(arguments.get("gradient", 0, Constant(None))) and is_several(tensor):
        run.report(BackwardOfNonScalar(node, tensor))
        return
    if check_freed(run, tensor, node) or check_overwritten(run, tensor, node):
        return
    create = arguments.flag("create_graph", 2, False)
    retain = arguments.flag("retain_graph", 1, False)
    for operation in tensor.operations:
        if retain is False and create is False:
            freed = FreedGraph(node, run.moment, tensor)
            run.set(run.graphs.freed, (id(operation), operation), freed)
        if operation.layer is not None and operation.layer.trainable is True:
            run.set(operation.layer, "gradient", True)
            run.graphs.reached[operation.layer] = None


def is_several(tensor: TensorValue) -> bool:
    elements = tensor.shape.elements
    if elements is not None:
        return elements > 1
    sizes = tensor.shape.sizes
    return tensor.unreduced is not None or any(isinstance(size, int) and size > 1 for size in sizes)


def position_of(operation: RecordedOperation) -> tuple[int, int]:
    node = operation.node
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def check_freed(run: "Evaluator", tensor: TensorValue, node: ast.Call) -> bool:
    freed = run.graphs.freed
    gone = [operation for operation in tensor.operations if (id(operation), operation) in freed]
    if not gone:
        return False
    operation = max(gone, key=position_of)
    before = freed[(id(operation), operation)]
    fresh = any(operation.moment == run.moment for operation in tensor.operations)
    how: Literal["twice", "before", "carried"]
    if before.moment == run.moment or not fresh:
        how = "twice"
    elif run.moment[: len(operation.moment)] == operation.moment:
        how = "before"
    else:
        how = "carried"
    same = before.tensor is tensor
    run.report(GraphFreed(node, operation, before.by, how, same, run.path_to(node)))
    return True


def check_overwritten(run: "Evaluator", tensor: TensorValue, node: ast.Call) -> bool:
    for operation in sorted(tensor.operations, key=position_of):
        earlier = operation.moment != run.moment
        layer, result = operation.layer, operation.result
        stepped = layer and operation.keeps_weights and layer.version > operation.version
        if layer and stepped and layer.written_at:
            run.report(SavedValueOverwritten(node, operation, layer.written_at, "step", earlier))
            return True
        if result and result.version and result.written_at:
            run.report(SavedValueOverwritten(node, operation, result.written_at, "write", earlier))
            return True
    return False


def check_idle_optimizer(run: "Evaluator", optimizer: OptimizerValue, node: ast.AST) -> None:
    """None of its layers has a gradient, and those that have one belong to no optimizer."""
    holders = held_by(optimizer)
    layers = [
        holder for holder in holders if isinstance(holder, LayerValue) and has_weights(holder)
    ]
    if run.graphs.lost or not layers or any(isinstance(held, TensorValue) for held in holders):
        return
    unknown = any(is_uncertain(other) for other in run.optimizers)
    if unknown or any(layer.gradient is not False for layer in layers):
        return
    held = {id(holder) for other in run.optimizers for holder in held_by(other)}
    outside = tuple(layer for layer in run.graphs.reached if id(layer) not in held)
    if outside and len(outside) == len(run.graphs.reached):
        run.report(OptimizerWithoutGradients(node, optimizer.node, outside))


def is_uncertain(optimizer: OptimizerValue) -> bool:
    groups = optimizer.groups
    return groups is None or any(group.of is None for group in groups)


def held_by(optimizer: OptimizerValue) -> list[LayerValue | TensorValue]:
    return [holder for group in optimizer.groups or () for holder in group.of or ()]


def optimizer_step(run: "Evaluator", optimizer: OptimizerValue, node: ast.AST) -> None:
    """An optimizer writes into the weights that have a gradient."""
    for holder in held_by(optimizer):
        if isinstance(holder, LayerValue) and holder.gradient is True:
            run.set(holder, "version", holder.version + 1)
            run.set(holder, "written_at", node)
