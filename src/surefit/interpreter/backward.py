"""What `backward` and an optimizer's step do with graphs and weights, and writing in place."""

import ast
from typing import Literal

from surefit.interpreter.contracts.graphs import (
    FreedOperation,
    graph_used_up,
    leaf_written,
    no_graph,
    not_one_number,
    value_overwritten,
)
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import graph_of, operation_result
from surefit.interpreter.modules import all_layers
from surefit.interpreter.recorder import FreedGraph
from surefit.interpreter.value_queries import Arguments, is_none, is_true
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    GraphCut,
    LayerValue,
    RecordedOperation,
    TensorValue,
)


def write_in_place(run: Evaluator, tensor: TensorValue, node: ast.AST, target: ast.AST) -> None:
    """As an augmented assignment or a method whose name ends in `_` does it."""
    if tensor.leaf and tensor.graph is True and run.graphs.recording is True:
        if not tensor.modified and not tensor.grad_switched:
            run.report(leaf_written, node, node, target, tensor)
        return
    bump_version(run, tensor, node)


def bump_version(run: Evaluator, tensor: TensorValue, node: ast.AST) -> None:
    run.set(tensor, "version", tensor.version + 1)
    run.set(tensor, "written_at", node)
    tensor.low = tensor.high = None


def run_backward(run: Evaluator, tensor: TensorValue, arguments: Arguments, node: ast.Call) -> None:
    graph = graph_of(tensor)
    run.graphs.lost = run.graphs.lost or tensor.unsure or graph is None
    if graph is False and not tensor.leaf:
        run.report(no_graph, node, tensor.cut.node if tensor.cut else node, tensor)
    if graph is not True:
        return
    if is_none(arguments.get("gradient", 0, Constant(None))) and is_several(tensor):
        run.report(not_one_number, node, tensor.unreduced or node, tensor)
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


def position_of(operation: RecordedOperation) -> tuple[int, int, int, int]:
    """Start and end: in `a(x).b()` both calls start at the same column."""
    start = getattr(operation.node, "lineno", 0), getattr(operation.node, "col_offset", 0)
    end_line = getattr(operation.node, "end_lineno", None) or 0
    return *start, end_line, getattr(operation.node, "end_col_offset", None) or 0


def check_freed(run: Evaluator, tensor: TensorValue, node: ast.Call) -> bool:
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
    calls = run.path_to(node)
    birth = where_paths_part(operation, calls)
    run.report(graph_used_up, node, birth, FreedOperation(operation, before.by, how, same, calls))
    return True


def where_paths_part(operation: RecordedOperation, calls: tuple[ast.AST, ...]) -> ast.AST:
    """Where the path to what was freed parts from the path to the `backward` that needs it."""
    for at, node in enumerate(operation.calls):
        if at >= len(calls) or calls[at] is not node:
            return node
    return operation.node


def check_overwritten(run: Evaluator, tensor: TensorValue, node: ast.Call) -> bool:
    for operation in sorted(tensor.operations, key=position_of):
        earlier = operation.moment != run.moment
        layer, result = operation.layer, operation.result
        stepped = layer and operation.keeps_weights and layer.version > operation.version
        if layer and stepped and layer.written_at:
            at = layer.written_at
            run.report(value_overwritten, node, at, operation, "step", earlier)
            return True
        if result and result.version and result.written_at:
            at = result.written_at
            run.report(value_overwritten, node, at, operation, "write", earlier)
            return True
    return False


OWN_ARGUMENTS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check")


def checkpoint_call(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    """Reentrant checkpointing looks at its inputs alone to decide whether it records."""
    inner = arguments.first
    rest = arguments.after_first()
    named = {key: value for key, value in rest.named.items() if key not in OWN_ARGUMENTS}
    reentrant = arguments.named.get("use_reentrant")
    result = run.call(inner, Arguments(rest.positional, named, rest.nodes, rest.open), node)
    if not isinstance(result, TensorValue):
        return UNKNOWN
    inputs = [value for value in rest.positional if isinstance(value, TensorValue)]
    frozen = bool(inputs) and all(graph_of(tensor) is False for tensor in inputs)
    others = [value for value in rest.positional if not isinstance(value, Constant)]
    learns = any(
        isinstance(layer, LayerValue) and layer.trainable is not False
        for layer in all_layers(inner)
    )
    certain = frozen and len(inputs) == len(others) and run.graphs.recording is True
    if is_true(reentrant) and certain and learns:
        created = operation_result(run, node, result.shape, [], result.dtype)
        created.graph, created.cut = False, GraphCut("checkpoint", node, node)
        return created
    if not isinstance(reentrant, Constant):
        result.graph = None
    result.operations = frozenset()
    result.unsure = True
    return result
