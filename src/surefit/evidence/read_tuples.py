"""Tuples of outputs, as the source of a script shows them, and where one is used as a tensor."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.evidence.read_models import layer_of, own_module
from surefit.source.definitions import definition
from surefit.source.outcomes import Outcomes, function_run, outcomes
from surefit.source.reading import Source

RECURRENT = ("LSTM", "GRU", "RNN", "MultiheadAttention")
"""Layers of torch that give back their outputs and something more."""
OF_TUPLES = ("count", "index")
TAKES_ONE = (
    *("Linear", "Embedding", "Dropout", "ReLU", "GELU", "Tanh", "Sigmoid", "Softmax", "LayerNorm"),
    *("BatchNorm1d", "Conv1d", "Conv2d", "Flatten", "LSTM", "GRU", "RNN", "Sequential"),
)
"""Layers that take a tensor first."""


@dataclass(frozen=True, slots=True)
class TupleUsed:
    """A tuple of outputs that is used as if it were one of them."""

    node: ast.expr
    """Where it is used."""
    name: str
    made: ast.Call
    members: int
    attribute: str = ""
    layer: str = ""


def tuple_made(source: Source, node: ast.expr) -> tuple[ast.Call, int] | None:
    """The call of a model or layer that gave back a tuple, and of how many."""
    call = definition(source, node) if isinstance(node, ast.Name) else node
    if not isinstance(call, ast.Call):
        return None
    if layer_of(source, call.func) in RECURRENT:
        return call, 2
    found = of_own_model(source, call)
    counts = {len(one.elts) for one in found if isinstance(one, ast.Tuple)}
    every = bool(found) and all(isinstance(one, ast.Tuple) for one in found)
    return (call, counts.pop()) if every and len(counts) == 1 else None


def of_own_model(source: Source, call: ast.Call) -> Outcomes:
    """What the `forward` of a model of the file gives back at a call."""
    owner = own_module(source, call.func)
    if owner is None or function_run(source, call) is None:
        return ()
    return outcomes(source, call)


def tuples_used(source: Source) -> Iterator[TupleUsed]:
    """By an attribute that tuples lack, by an index of several axes, or as the input of a layer."""
    for node in source.every(ast.Attribute):
        if isinstance(node.value, ast.Name | ast.Call) and isinstance(node.ctx, ast.Load):
            made = tuple_made(source, node.value)
            if made and node.attr not in OF_TUPLES and not node.attr.startswith("_"):
                yield TupleUsed(node, source.segment(node.value), *made, attribute=node.attr)
    for item in source.every(ast.Subscript):
        if isinstance(item.slice, ast.Tuple) and isinstance(item.value, ast.Name):
            made = tuple_made(source, item.value)
            if made:
                yield TupleUsed(item, item.value.id, *made)
    for call in source.every(ast.Call):
        first = call.args[0] if call.args else None
        if not isinstance(first, ast.Name | ast.Call):
            continue
        made = tuple_made(source, first)
        layer = layer_of(source, call.func) if made else ""
        if made and layer in TAKES_ONE:
            yield TupleUsed(first, source.segment(first), *made, layer=layer)
