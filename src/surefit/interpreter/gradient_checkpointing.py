"""`torch.utils.checkpoint`."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.graphs import graph_of, operation_result
from surefit.interpreter.modules import all_layers
from surefit.interpreter.value_queries import is_true
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    GraphCut,
    LayerValue,
    TensorValue,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


OWN_ARGUMENTS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check")


def checkpoint_call(run: "Evaluator", arguments: Arguments, node: ast.AST) -> AbstractValue:
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
