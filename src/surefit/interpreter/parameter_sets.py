"""Sets of parameters: which of them are trained, and which have gradients."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.layer_tables import has_weights
from surefit.interpreter.modules import is_fully_known
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    EachParameter,
    FunctionValue,
    LayerValue,
    ParameterSet,
)
from surefit.interpreter.violations import GradientMissing

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def filter_parameters(node: ast.ListComp | ast.GeneratorExp, over: ParameterSet) -> AbstractValue:
    """`[p for p in model.parameters() if p.requires_grad]`; nothing is known of other choices."""
    loop = node.generators[0]
    target = loop.target
    if over.named and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    name = ast.unparse(target)
    tests = [ast.unparse(test) for test in loop.ifs]
    if ast.unparse(node.elt) != name or any(test != f"{name}.requires_grad" for test in tests):
        return sequence("list", None, node)
    return trainable_ones(over) if tests else ParameterSet(over.of, over.model)


def trainable_ones(over: ParameterSet) -> ParameterSet:
    layers = [holder for holder in over.of or () if isinstance(holder, LayerValue)]
    unknown = any(layer.trainable is None for layer in layers)
    if over.of is None or unknown or len(layers) != len(over.of):
        return ParameterSet(None, over.model)
    return ParameterSet(tuple(layer for layer in layers if layer.trainable), over.model)


def builtin_filter(_run: "Evaluator", arguments: Arguments, _node: ast.AST) -> AbstractValue:
    """`filter(lambda p: p.requires_grad, model.parameters())`."""
    match arguments.positional:
        case [FunctionValue(node=ast.Lambda() as function), ParameterSet() as over]:
            names = [argument.arg for argument in function.args.args]
            if names and ast.unparse(function.body) == f"{names[0]}.requires_grad":
                return trainable_ones(over)
    return UNKNOWN


def check_gradients(run: "Evaluator", each: EachParameter, node: ast.AST) -> None:
    """Computing with the gradients of all parameters, of which some certainly have none."""
    model, holders = each.of.model, each.of.of
    if holders is None or model is None or not is_fully_known(model) or run.graphs.lost:
        return
    bare = tuple(
        holder
        for holder in holders
        if isinstance(holder, LayerValue) and has_weights(holder) and holder.gradient is False
    )
    if bare and len(bare) < len(holders):
        run.report(GradientMissing(node, bare))
