"""Layers of `torch.nn`: creating them."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.divisibility import check_layer_divides
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.layer_tables import ARGUMENTS, SHAPE_PRESERVING
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    DictValue,
    LayerValue,
    SequenceValue,
    TensorValue,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


KNOWN_KINDS = {*ARGUMENTS, *SHAPE_PRESERVING}


def create_layer(run: "Evaluator", kind: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if kind in ("Sequential", "ModuleList", "ModuleDict"):
        return create_container(run, kind, arguments, node)
    if kind == "Parameter":
        return create_parameter(arguments, node)
    if kind not in KNOWN_KINDS or arguments.open:
        run.escape_all(arguments.values)
        return UNKNOWN
    names = ARGUMENTS.get(kind, ())
    if len(arguments.positional) > len(names):
        return UNKNOWN if names else LayerValue(kind, {}, node)
    settings = {**dict(zip(names, arguments.positional, strict=False)), **arguments.named}
    layer = LayerValue(kind, settings, node, run.dtype, run.default_device)
    check_layer_divides(run, layer, node)
    if kind == "DataParallel":
        layer.children["module"] = settings.get("module", UNKNOWN)
    if kind == "TransformerEncoder" and not isinstance(settings.get("encoder_layer"), LayerValue):
        return UNKNOWN
    if "dtype" in settings or "device" in settings:
        layer.dtype = layer.device = None
    return layer


def create_container(
    run: "Evaluator", kind: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    layer = LayerValue(kind, {}, node)
    if arguments.open:
        return UNKNOWN
    children, first = tuple(arguments.positional), arguments.first
    if isinstance(first, DictValue) or (children and kind == "ModuleDict"):
        if not isinstance(first, DictValue) or first.items is None:
            return UNKNOWN
        layer.children.update({str(key): child for key, child in first.items.items()})
        return layer
    if children and kind == "ModuleList":
        iterations = iterations_of(run, first)
        if not iterations.all_known:
            return UNKNOWN
        children = iterations.items
    if any(isinstance(child, SequenceValue) for child in children):
        return UNKNOWN
    layer.children.update({str(at): child for at, child in enumerate(children)})
    return layer


def create_parameter(arguments: Arguments, node: ast.AST) -> AbstractValue:
    inner = arguments.get("data", 0, UNKNOWN)
    learns = arguments.flag("requires_grad", 1, True)
    if not isinstance(inner, TensorValue):
        return UNKNOWN
    result = TensorValue(inner.shape, inner.dtype, graph=learns, leaf=learns is True, node=node)
    result.dtype_at, result.device, result.registered = inner.dtype_at, inner.device, "parameter"
    return result
