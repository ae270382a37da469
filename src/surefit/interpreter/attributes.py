"""Attributes and items: what reading and setting them does."""

import ast
from collections.abc import Iterable, Sequence

from surefit.interpreter.backward import write_in_place
from surefit.interpreter.classes import find_in_class, has_foreign_bases, is_decorated
from surefit.interpreter.contracts.checkpoints import entry_absent
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import without_graph
from surefit.interpreter.layer_tables import CONTAINERS, tensors_of
from surefit.interpreter.memory_layout import slice_ends, strides_after_index
from surefit.interpreter.modules import is_module
from surefit.interpreter.operation_calls import view_tensor
from surefit.interpreter.reshaping import swap_axes
from surefit.interpreter.shapes import ANY, Shape, Size, slice_size
from surefit.interpreter.value_queries import Arguments, is_none, items_of, sequence, size_value
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    ClassValue,
    Constant,
    DictValue,
    EachParameter,
    FunctionValue,
    ImportedName,
    InstanceValue,
    Integer,
    LayerValue,
    LibraryObject,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorValue,
    Unknown,
    integer_of,
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
        learns = layer.trainable
        weight = TensorValue(shapes[name], layer.dtype, graph=learns, leaf=learns is True)
        weight.dtype_at, weight.weight_of = layer.cast_at or layer.node, layer
        weight.device = layer.device
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


def get_item(
    run: Evaluator, owner: AbstractValue, index: AbstractValue, node: ast.Subscript
) -> AbstractValue:
    match owner:
        case TensorValue():
            return index_tensor(run, owner, index, node)
        case ShapeValue(tensor=tensor):
            return part_of_shape(tensor.shape, index)
        case SequenceValue(items=tuple(items)):
            return pick(items, index, owner.kind)
        case DictValue(items=dict(items)) if isinstance(index, Constant):
            if index.value in items:
                return items[index.value]
            if owner.loaded is not None and isinstance(index.value, str):
                run.report(entry_absent, node, owner.node or node, node, owner, index.value)
            return UNKNOWN
        case LayerValue(kind="Sequential" | "ModuleList" | "ModuleDict") if owner.escaped is False:
            return child_layer(owner, index)
        case Constant(value=str(text)):
            number = integer_of(index)
            if number is not None and -len(text) <= number < len(text):
                return Constant(text[number])
    return UNKNOWN


def child_layer(owner: LayerValue, index: AbstractValue) -> AbstractValue:
    if owner.kind == "ModuleDict":
        name = str(index.value) if isinstance(index, Constant) else ""
        return owner.children.get(name, UNKNOWN)
    children = tuple(owner.children.values())
    if isinstance(index, SliceValue):
        part = pick(children, index, "list")
        if not isinstance(part, SequenceValue) or part.items is None:
            return UNKNOWN
        result = LayerValue(owner.kind, {}, owner.node)
        result.children.update({str(at): item for at, item in enumerate(part.items)})
        return result
    return pick(children, index, "list")


def pick(items: tuple[AbstractValue, ...], index: AbstractValue, kind: str) -> AbstractValue:
    number = integer_of(index)
    if number is not None:
        return items[number] if -len(items) <= number < len(items) else UNKNOWN
    if isinstance(index, SliceValue):
        ends = slice_ends(index)
        return sequence(kind, None if ends is None else items[slice(*ends)])
    if isinstance(index, Integer) and items and all(item is items[0] for item in items):
        return items[0]
    return UNKNOWN


def part_of_shape(shape: Shape, index: AbstractValue) -> AbstractValue:
    number, ends = integer_of(index), slice_ends(index)
    if number is not None:
        return size_value(shape.size(number))
    if ends is None or shape.more:
        return UNKNOWN
    return sequence("tuple", [size_value(size) for size in shape.sizes[slice(*ends)]])


def set_item(
    run: Evaluator,
    owner: AbstractValue,
    index: AbstractValue,
    value: AbstractValue,
    node: ast.Subscript,
) -> None:
    if isinstance(owner, TensorValue):
        write_in_place(run, owner, run.source.parents.get(node, node), node.value)
        if not isinstance(value, Constant | Integer):
            run.mark_modified(owner)
    elif isinstance(owner, DictValue):
        known = owner.items is not None and isinstance(index, Constant)
        entry = {index.value: value} if isinstance(index, Constant) else {}
        run.set(owner, "items", {**(owner.items or {}), **entry} if known else None)
    elif isinstance(owner, SequenceValue):
        number, several = integer_of(index), owner.items
        if several is None or number is None or not -len(several) <= number < len(several):
            run.set(owner, "items", None)
        else:
            changed = list(several)
            changed[number] = value
            run.set(owner, "items", tuple(changed))
    elif isinstance(owner, LayerValue):
        number = integer_of(index)
        if owner.kind in ("Sequential", "ModuleList") and number is not None:
            key = str(number if number >= 0 else number + len(owner.children))
            run.set(owner.children, key, value)
        else:
            run.escape(owner)
    elif isinstance(owner, BoundMethod):
        run.escape(owner.receiver)  # `model._modules[name] = ...`


def index_tensor(
    run: Evaluator, tensor: TensorValue, index: AbstractValue, node: ast.AST
) -> AbstractValue:
    shape = indexed_shape(tensor.shape, index)
    result = view_tensor(run, tensor, shape, node)
    result.is_array = tensor.is_array
    result.strides, result.cause = strides_after_index(tensor, index, shape, node)
    of_rows = isinstance(index, TensorValue | Integer | SliceValue) or integer_of(index) is not None
    all_there = tensor.everywhere or (tensor.rows_alike and of_rows)
    if not all_there and not keeps_everything(index):
        result.low = result.high = None
    if result.shape.size(-1) != tensor.shape.size(-1) or not result.shape.sizes:
        result.source_layer = None
    if result.shape.rank == 0:
        result.unreduced = None
    return result


def keeps_everything(index: AbstractValue) -> bool:
    """`[None]`, `[:]`, `[..., None]`: everything stays."""
    items = items_of(index)
    parts = (index,) if items is None else items
    return all(adds_no_index(part) or slice_ends(part) == (None, None, None) for part in parts)


def adds_no_index(part: AbstractValue) -> bool:
    """`None` and `...`, which take no axis."""
    return isinstance(part, Constant) and part.value in (None, ...)


def indexed_shape(shape: Shape, index: AbstractValue) -> Shape:
    parts = [index]
    if isinstance(index, SequenceValue) and index.kind == "tuple" and index.items is not None:
        parts = list(index.items)
    if len(parts) == 1 and isinstance(parts[0], TensorValue):
        return shape_by_tensor(shape, parts[0])
    if not all(is_simple(part) for part in parts):
        return ANY
    dots = [at for at, part in enumerate(parts) if isinstance(part, Constant) and part.value is ...]
    if shape.more and not dots:
        return ANY
    middle = dots[0] if dots else len(parts)
    front, back = parts[:middle], parts[middle + 1 :]
    before, behind = (sum(not adds_no_index(part) for part in side) for side in (front, back))
    if (shape.more and before) or before + behind > len(shape.sizes):
        return ANY
    end = len(shape.sizes) - behind
    sizes = sizes_after(front, shape.sizes[:before])
    sizes += shape.sizes[before:end]
    return Shape((*sizes, *sizes_after(back, shape.sizes[end:])), shape.more)


def is_simple(index: AbstractValue) -> bool:
    known = isinstance(index, Integer | SliceValue) or integer_of(index) is not None
    return known or adds_no_index(index)


def sizes_after(indices: Sequence[AbstractValue], sizes: Sequence[Size]) -> list[Size]:
    """What indices leave of their axes."""
    axes = iter(sizes)
    left: list[Size] = []
    for index in indices:
        if is_none(index):
            left.append(1)
            continue
        size, ends = next(axes), slice_ends(index)
        if ends == (None, None, None):
            left.append(size)
        elif isinstance(index, SliceValue):
            left.append(None if ends is None else slice_size(size, *ends))
    return left


def shape_by_tensor(shape: Shape, index: TensorValue) -> Shape:
    if shape.more or index.shape.more or not shape.sizes:
        return ANY
    if index.dtype == "int64":
        return Shape((*index.shape.sizes, *shape.sizes[1:]))
    if index.dtype == "bool" and len(index.shape.sizes) <= len(shape.sizes):
        return Shape((None, *shape.sizes[len(index.shape.sizes) :]))
    return ANY


def any_row(run: Evaluator, tensor: TensorValue) -> TensorValue:
    """Some row of it."""
    rest = ANY if tensor.shape.more else Shape(tensor.shape.sizes[1:])
    result = view_tensor(run, tensor, rest, tensor.node or run.source.tree)
    result.node = tensor.node
    if not tensor.everywhere:
        result.low = result.high = None
    return result
