"""Subscripts that read and write."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.in_place import mark_modified, write_in_place
from surefit.interpreter.indexing import index_tensor
from surefit.interpreter.memory_layout import slice_ends
from surefit.interpreter.shapes import Shape
from surefit.interpreter.value_queries import integer_of, sequence, size_value
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DictValue,
    Integer,
    LayerValue,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorValue,
)
from surefit.interpreter.violations import CheckpointKeyMissing

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def get_item(
    run: "Evaluator", owner: AbstractValue, index: AbstractValue, node: ast.Subscript
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
                run.report(CheckpointKeyMissing(node, owner, index.value))
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
        return (
            owner.children.get(str(index.value), UNKNOWN)
            if isinstance(index, Constant)
            else UNKNOWN
        )
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
    run: "Evaluator",
    owner: AbstractValue,
    index: AbstractValue,
    value: AbstractValue,
    node: ast.Subscript,
) -> None:
    if isinstance(owner, TensorValue):
        write_in_place(run, owner, run.source.parents.get(node, node), node.value)
        if not isinstance(value, Constant | Integer):
            mark_modified(run, owner)
    elif isinstance(owner, DictValue):
        items = owner.items
        if items is None or not isinstance(index, Constant):
            run.set(owner, "items", None)
        else:
            run.set(owner, "items", {**items, index.value: value})
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
