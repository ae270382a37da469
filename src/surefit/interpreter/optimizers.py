"""Optimizers: their parameters, their methods, and rates that rounding swallows."""

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.backward import check_idle_optimizer, held_by, optimizer_step
from surefit.interpreter.checkpoints import group_shapes, load_into_optimizer
from surefit.interpreter.modules import class_name_of
from surefit.interpreter.value_queries import items_of
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    LayerValue,
    OptimizerStateValue,
    OptimizerValue,
    ParameterSet,
    TensorValue,
)
from surefit.interpreter.violations import UpdatesLostToRounding

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


COARSE_DTYPES = {"bfloat16": 5e-6, "float16": 5e-7}
"""Learning rates at which, measured on small models, nine in ten updates are lost."""


def create_optimizer(
    run: "Evaluator", kind: str, arguments: Arguments, node: ast.AST
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


def check_rounding(run: "Evaluator", optimizer: OptimizerValue, node: ast.AST) -> None:
    rate = optimizer.rate.value if isinstance(optimizer.rate, Constant) else None
    if optimizer.kind not in ("Adam", "AdamW") or not isinstance(rate, float):
        return
    holders = held_by(optimizer)
    layers = [holder for holder in holders if isinstance(holder, LayerValue)]
    dtypes = {layer.dtype for layer in layers}
    dtype = dtypes.pop() if len(dtypes) == 1 and len(layers) == len(holders) else None
    if dtype in COARSE_DTYPES and 0 < rate <= COARSE_DTYPES[dtype]:
        name = class_name_of((optimizer.groups or ())[0].model)
        cast = layers[0].cast_at or node
        run.report(UpdatesLostToRounding(node, optimizer.kind, dtype, rate, cast, name))


def zero_gradients(run: "Evaluator", holders: Iterable[LayerValue | TensorValue]) -> None:
    for holder in holders:
        if isinstance(holder, LayerValue):
            run.set(holder, "gradient", False)


def optimizer_method(
    run: "Evaluator", optimizer: OptimizerValue, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if name == "step" and not arguments.values:
        check_idle_optimizer(run, optimizer, node)
        optimizer_step(run, optimizer, node)
    elif name == "zero_grad":
        zero_gradients(run, held_by(optimizer))
    elif name == "state_dict":
        return OptimizerStateValue(group_shapes(optimizer), node)
    elif name == "load_state_dict":
        load_into_optimizer(run, optimizer, arguments, node)
    elif name == "add_param_group":
        optimizer.groups = None
    return UNKNOWN
