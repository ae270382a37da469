"""Models: the layers and tensors in them."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from surefit.interpreter.classes import has_foreign_bases, is_module_class
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.layer_tables import BUFFERS, CONTAINERS, tensors_of
from surefit.interpreter.shapes import Shape
from surefit.interpreter.value_queries import contents
from surefit.interpreter.values import (
    AbstractValue,
    DeviceValue,
    InstanceValue,
    LayerValue,
    Module,
    ParameterSet,
    TensorValue,
    Unknown,
)

DEEPEST_MODULE = 12


def is_module(value: AbstractValue | None) -> TypeGuard[Module]:
    return isinstance(value, LayerValue) or (
        isinstance(value, InstanceValue) and is_module_class(value.of)
    )


def parts_of(value: AbstractValue) -> Iterator[tuple[str, AbstractValue]]:
    """What a module has registered: modules, parameters and buffers, by name."""
    if isinstance(value, LayerValue):
        yield from value.children.items()
    elif isinstance(value, InstanceValue):
        for name, part in value.attributes.items():
            if is_module(part) or (isinstance(part, TensorValue) and part.registered):
                yield name, part


def is_open(value: AbstractValue) -> bool:
    """Something in it can be a module of which nothing is known."""
    if not isinstance(value, InstanceValue | LayerValue):
        return False
    if value.escaped or any(isinstance(part, Unknown) for part in contents(value)):
        return True
    return isinstance(value, InstanceValue) and has_foreign_bases(value.of)


def all_layers(value: AbstractValue) -> tuple[LayerValue | TensorValue, ...]:
    """Layers with weights, and parameters that a module has itself, each once."""
    return tuple({id(layer): layer for layer in layers_in(value)}.values())


def layers_in(value: AbstractValue, deep: int = 0) -> Iterator[LayerValue | TensorValue]:
    if isinstance(value, LayerValue) and value.kind not in CONTAINERS:
        yield value
    for _, part in parts_of(value) if deep <= DEEPEST_MODULE else ():
        if not isinstance(part, TensorValue):
            yield from layers_in(part, deep + 1)
        elif part.registered == "parameter":
            yield part


def is_fully_known(value: AbstractValue, deep: int = 0) -> bool:
    """Nothing in a module is unknown."""
    if deep > DEEPEST_MODULE or is_open(value):
        return False
    parts = [part for _, part in parts_of(value) if not isinstance(part, TensorValue)]
    return all(is_fully_known(part, deep + 1) for part in parts)


def named_tensors(value: AbstractValue, before: str = "", deep: int = 0) -> dict[str, Shape] | None:
    """Of a whole state dict; None where something in it is not known."""
    if deep > DEEPEST_MODULE or is_open(value):
        return None
    tensors: dict[str, Shape] = {}
    if isinstance(value, LayerValue) and value.kind not in CONTAINERS:
        own = tensors_of(value)
        if own is None:
            return None
        tensors |= {f"{before}{name}": shape for name, shape in own.items()}
    for name, part in parts_of(value):
        if isinstance(part, TensorValue):
            if part.registered != "not saved":
                tensors[f"{before}{name}"] = part.shape
            continue
        inner = named_tensors(part, f"{before}{name}.", deep + 1)
        if inner is None:
            return None
        tensors |= inner
    return tensors


def shapes_of_parameters(group: ParameterSet) -> tuple[Shape, ...] | None:
    """In order; None where one is not known."""
    shapes: list[Shape] = []
    for holder in group.of or ():
        own = {"": holder.shape} if isinstance(holder, TensorValue) else tensors_of(holder)
        if own is None:
            return None
        shapes += [shape for name, shape in own.items() if name not in BUFFERS]
    return None if group.of is None else tuple(shapes)


def move_tensors(
    run: Evaluator,
    value: Module,
    device: DeviceValue | Unknown | None,
    dtype: str | None,
    node: ast.AST,
) -> None:
    """`.to(...)`, `.cuda()`, `.half()` of a module; None leaves it as it was."""
    target = device if isinstance(device, DeviceValue) else None
    for layer in all_layers(value):
        if device is not None:
            run.set(layer, "device", target)
        if dtype is not None:
            run.set(layer, "dtype", dtype or None)
            run.set(layer, "dtype_at" if isinstance(layer, TensorValue) else "cast_at", node)
    for holder in modules_in(value) if device is not None else ():
        for _, part in parts_of(holder):
            if isinstance(part, TensorValue):
                run.set(part, "device", target)


def modules_in(value: AbstractValue, deep: int = 0) -> Iterator[Module]:
    if deep > DEEPEST_MODULE or not is_module(value):
        return
    yield value
    for _, part in parts_of(value):
        yield from modules_in(part, deep + 1)


def class_name_of(value: AbstractValue | None) -> str:
    """What a model is called by its class."""
    if isinstance(value, InstanceValue):
        return value.of.node.name
    return value.kind if isinstance(value, LayerValue) else "the model"
