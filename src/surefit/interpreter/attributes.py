"""Attributes: what reading and setting them does."""

import ast
from collections.abc import Iterable

from surefit.interpreter.classes import find_in_class, has_foreign_bases, is_decorated
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import without_graph
from surefit.interpreter.layer_tables import CONTAINERS, tensors_of
from surefit.interpreter.modules import is_module
from surefit.interpreter.reshaping import swap_axes
from surefit.interpreter.value_queries import Arguments, size_value
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    ClassValue,
    Constant,
    EachParameter,
    FunctionValue,
    ImportedName,
    InstanceValue,
    Integer,
    LayerValue,
    LibraryObject,
    ShapeValue,
    TensorValue,
    Unknown,
)


def attribute_of(run: Evaluator, value: AbstractValue, name: str, node: ast.AST) -> AbstractValue:
    match value:
        case ImportedName(name=before):
            return ImportedName(f"{before}.{name}")
        case TensorValue():
            return tensor_attribute(run, value, name, node)
        case InstanceValue():
            return instance_attribute(run, value, name, node)
        case LayerValue():
            return layer_attribute(value, name)
        case ClassValue():
            result = find_in_class(value, name)
            return UNKNOWN if result is ABSENT else result
        case EachParameter(of=of) if name in ("grad", "data"):
            return EachParameter(of, grad=True) if name == "grad" else UNKNOWN
        case Unknown() | Integer() | FunctionValue():
            return UNKNOWN
        case LibraryObject() if name in value.arguments and value.name.endswith("Config"):
            return value.arguments[name]
    return BoundMethod(value, name)


def tensor_attribute(
    run: Evaluator, tensor: TensorValue, name: str, node: ast.AST
) -> AbstractValue:
    if name == "shape":
        return ShapeValue(tensor)
    if tensor.is_array:
        return BoundMethod(tensor, name)
    if name in ("T", "mT"):
        return swap_axes(run, tensor, -1, -2, node)
    if name == "data":
        return without_graph(tensor, node, tensor.shape, tensor.dtype)
    if name == "ndim":
        return size_value(tensor.shape.rank)
    if name == "device":
        return tensor.device or UNKNOWN
    if name in ("dtype", "grad", "grad_fn", "requires_grad", "is_leaf", "is_cuda", "real", "imag"):
        return UNKNOWN
    return BoundMethod(tensor, name)


def instance_attribute(
    run: Evaluator, instance: InstanceValue, name: str, node: ast.AST
) -> AbstractValue:
    if name in instance.attributes:
        return UNKNOWN if instance.escaped else instance.attributes[name]
    if name == "training" and is_module(instance):
        known = instance.training is not None and not instance.escaped
        return Constant(instance.training) if known else UNKNOWN
    result = find_in_class(instance.of, name)
    if isinstance(result, FunctionValue):
        if is_decorated(result.node, "property"):
            return run.call_function(result, Arguments(), node, instance)
        return BoundMethod(instance, name, result)
    if result is not ABSENT:
        return result
    if is_module(instance) or not has_foreign_bases(instance.of):
        return BoundMethod(instance, name)
    return UNKNOWN


def layer_attribute(layer: LayerValue, name: str) -> AbstractValue:
    if name in layer.children and layer.kind not in ("ModuleList", "Sequential"):
        return layer.children[name]
    if name in ("weight", "bias"):
        shapes = tensors_of(layer) or {}
        if name not in shapes:
            return UNKNOWN
        learns, device = layer.trainable, layer.device
        weight = TensorValue(
            shapes[name], layer.dtype, graph=learns, leaf=learns is True, device=device
        )
        weight.dtype_at, weight.weight_of = layer.cast_at or layer.node, layer
        return weight
    if name in layer.arguments and not layer.escaped:
        return layer.arguments[name]
    return BoundMethod(layer, name)


def set_attribute(
    run: Evaluator, owner: AbstractValue, name: str, value: AbstractValue, node: ast.AST
) -> None:
    match owner:
        case InstanceValue():
            run.set(owner.attributes, name, value)
        case LayerValue():
            if isinstance(value, LayerValue | InstanceValue) and owner.kind not in CONTAINERS:
                run.set(owner.children, name, value)
            else:
                run.set(owner, "escaped", True)
        case EachParameter() if name == "requires_grad" and not owner.grad:
            flag = value.value if isinstance(value, Constant) else None
            freeze(run, owner.of.of or (), flag if isinstance(flag, bool) else None, node)
        case TensorValue() if name == "requires_grad":
            if owner.weight_of is not None:
                run.set(owner.weight_of, "trainable", None)
            else:
                run.set(owner, "grad_switched", True)
        case TensorValue(weight_of=LayerValue() as layer) if name == "data":
            run.escape(layer)
        case ClassValue():
            run.set(owner.scope.names, name, value)


def freeze(
    run: Evaluator,
    holders: Iterable[LayerValue | TensorValue],
    trainable: bool | None,
    node: ast.AST,
) -> None:
    for holder in holders:
        if isinstance(holder, LayerValue):
            run.set(holder, "trainable", trainable)
            run.set(holder, "frozen_by", node if trainable is False else None)
        else:
            run.set(holder, "grad_switched", True)
