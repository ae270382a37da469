"""Optimizers: their parameters, their methods, and rates that rounding swallows."""

import ast
from collections.abc import Iterable

from surefit.interpreter.checkpoints import group_shapes, load_into_optimizer
from surefit.interpreter.contracts.graphs import gradient_is_none
from surefit.interpreter.contracts.optimizers import nothing_held_learns, updates_rounded
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.layer_tables import has_weights
from surefit.interpreter.modules import is_fully_known
from surefit.interpreter.value_queries import Arguments, items_of, sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    EachParameter,
    FunctionValue,
    LayerValue,
    OptimizerStateValue,
    OptimizerValue,
    ParameterSet,
    TensorValue,
)

COARSE_DTYPES = {"bfloat16": 5e-6, "float16": 5e-7}
"""Learning rates at which, measured on small models, nine in ten updates are lost."""


def create_optimizer(
    run: Evaluator, kind: str, arguments: Arguments, node: ast.AST
) -> OptimizerValue:
    groups = parameter_groups(arguments.get("params", 0, UNKNOWN))
    optimizer = OptimizerValue(kind, node, groups, arguments.get("lr", 1, UNKNOWN))
    run.optimizers.append(optimizer)
    check_rounding(run, optimizer, node)
    return optimizer


def parameter_groups(parameters: AbstractValue) -> tuple[ParameterSet, ...] | None:
    if isinstance(parameters, ParameterSet):
        return (parameters,)
    entries = [
        item.items.get("params") if isinstance(item, DictValue) and item.items is not None else None
        for item in items_of(parameters) or ()
    ]
    groups = tuple(entry for entry in entries if isinstance(entry, ParameterSet))
    return groups if groups and len(groups) == len(entries) else None


def check_rounding(run: Evaluator, optimizer: OptimizerValue, node: ast.AST) -> None:
    rate = optimizer.rate.value if isinstance(optimizer.rate, Constant) else None
    if optimizer.kind not in ("Adam", "AdamW") or not isinstance(rate, float):
        return
    holders = held_by(optimizer)
    layers = [holder for holder in holders if isinstance(holder, LayerValue)]
    dtypes = {layer.dtype for layer in layers}
    dtype = dtypes.pop() if len(dtypes) == 1 and len(layers) == len(holders) else None
    if dtype in COARSE_DTYPES and 0 < rate <= COARSE_DTYPES[dtype]:
        cast = layers[0].cast_at or node
        run.report(updates_rounded, node, cast, optimizer.kind, dtype, rate)


def zero_gradients(run: Evaluator, holders: Iterable[LayerValue | TensorValue]) -> None:
    for holder in holders:
        if isinstance(holder, LayerValue):
            run.set(holder, "gradient", False)


def optimizer_method(
    run: Evaluator, optimizer: OptimizerValue, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if name == "step" and not arguments.values:
        check_idle_optimizer(run, optimizer, node)
        for holder in held_by(optimizer):
            if isinstance(holder, LayerValue) and holder.gradient is True:
                run.set(holder, "version", holder.version + 1)
                run.set(holder, "written_at", node)
    elif name == "zero_grad":
        zero_gradients(run, held_by(optimizer))
    elif name == "state_dict":
        return OptimizerStateValue(group_shapes(optimizer), node)
    elif name == "load_state_dict":
        load_into_optimizer(run, optimizer, arguments, node)
    elif name == "add_param_group":
        optimizer.groups = None
    return UNKNOWN


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


def builtin_filter(_run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    """`filter(lambda p: p.requires_grad, model.parameters())`."""
    match arguments.positional:
        case [FunctionValue(node=ast.Lambda() as function), ParameterSet() as over]:
            names = [argument.arg for argument in function.args.args]
            if names and ast.unparse(function.body) == f"{names[0]}.requires_grad":
                return trainable_ones(over)
    return UNKNOWN


def check_gradients(run: Evaluator, each: EachParameter, node: ast.AST) -> None:
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
        run.report(gradient_is_none, node, node, bare)


def check_idle_optimizer(run: Evaluator, optimizer: OptimizerValue, node: ast.AST) -> None:
    """None of its layers has a gradient, and those that have one belong to no optimizer."""
    holders = held_by(optimizer)
    layers = [
        holder for holder in holders if isinstance(holder, LayerValue) and has_weights(holder)
    ]
    if run.graphs.lost or not layers or any(isinstance(held, TensorValue) for held in holders):
        return
    groups = [group for other in run.optimizers for group in other.groups or (ParameterSet(None),)]
    unknown = any(group.of is None for group in groups)
    if unknown or any(layer.gradient is not False for layer in layers):
        return
    held = {id(holder) for other in run.optimizers for holder in held_by(other)}
    outside = tuple(layer for layer in run.graphs.reached if id(layer) not in held)
    if outside and len(outside) == len(run.graphs.reached):
        run.report(nothing_held_learns, node, optimizer.node, outside)


def held_by(optimizer: OptimizerValue) -> list[LayerValue | TensorValue]:
    return [holder for group in optimizer.groups or () for holder in group.of or ()]
