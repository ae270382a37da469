"""What a loader over a dataset of the script gives to its loop."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.classes import find_in_class
from surefit.interpreter.indexing import any_row
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.origins import origin_of
from surefit.interpreter.shapes import Shape, Size, SymbolicSize
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    ABSENT,
    CPU,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DictValue,
    FunctionValue,
    InstanceValue,
    Integer,
    LibraryObject,
    LoaderValue,
    SequenceValue,
    TensorValue,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def batch_of(run: "Evaluator", loader: LoaderValue) -> AbstractValue:
    """One batch; its number of rows is not known, and the same in all its tensors."""
    run.sizes += 1
    rows = SymbolicSize(run.sizes)
    row = dataset_row(run, loader.dataset)
    if loader.collate is None:
        return collate(row, rows)
    if isinstance(loader.collate, FunctionValue | BoundMethod | InstanceValue):
        return run.call(loader.collate, Arguments([sequence("list", None)]), loader.node)
    return UNKNOWN


def dataset_row(run: "Evaluator", dataset: AbstractValue) -> AbstractValue:
    """What a dataset gives for one number."""
    match dataset:
        case LibraryObject(name="torch.utils.data.TensorDataset", of=columns):
            rows = [
                any_row(run, column) if isinstance(column, TensorValue) else UNKNOWN
                for column in columns
            ]
            return sequence("tuple", rows)
        case LibraryObject(name="torch.utils.data.Subset", of=(inner, *_)):
            return dataset_row(run, inner)
        case InstanceValue(of=class_) if not dataset.escaped:
            method = find_in_class(class_, "__getitem__")
            several = find_in_class(class_, "__getitems__")
            if isinstance(method, FunctionValue) and several is ABSENT:
                return run.call_function(method, Arguments([Integer()]), run.source.tree, dataset)
        case SequenceValue(items=tuple(items)) if items:
            return items[0] if all(type(item) is type(items[0]) for item in items) else UNKNOWN
    return UNKNOWN


def collate(row: AbstractValue, rows: Size) -> AbstractValue:
    """As the default collator does it."""
    match row:
        case TensorValue():
            shape = row.shape if row.shape.more else Shape((rows, *row.shape.sizes))
            strides = contiguous(shape)
            return replace(row, shape=shape, leaf=False, strides=strides, cause=None)
        case Constant(value=bool()):
            return UNKNOWN
        case Constant(value=int()) | Integer():
            return column_of_numbers(rows, "int64", origin_of(row))
        case Constant(value=float()):
            return column_of_numbers(rows, "float64", origin_of(row))
        case SequenceValue(items=tuple(items)):
            return sequence("list", [collate(item, rows) for item in items])
        case DictValue(items=dict(entries)):
            return DictValue({key: collate(item, rows) for key, item in entries.items()})
    return UNKNOWN


def column_of_numbers(rows: Size, dtype: str, node: ast.AST | None) -> TensorValue:
    return TensorValue(Shape((rows,)), dtype, graph=False, dtype_at=node, device=CPU)
