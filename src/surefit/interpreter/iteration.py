"""What a loop iterates over, what a loader gives to it, and what a tuple of names takes apart."""

import ast
from dataclasses import dataclass, replace

from surefit.interpreter.attributes import any_row
from surefit.interpreter.classes import find_in_class
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.shapes import Shape, Size, SymbolicSize
from surefit.interpreter.value_queries import Arguments, origin_of, sequence, size_value
from surefit.interpreter.values import (
    ABSENT,
    CPU,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DictValue,
    FunctionValue,
    ImportedName,
    InstanceValue,
    Integer,
    LayerValue,
    LibraryObject,
    LoaderValue,
    Real,
    SequenceValue,
    ShapeValue,
    TensorValue,
    integer_of,
)

MOST_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Iterations:
    """Members in order; with `all_known` these are all there are."""

    items: tuple[AbstractValue, ...]
    all_known: bool

    def item(self, number: int) -> AbstractValue:
        return self.items[min(number, len(self.items) - 1)]


UNKNOWN_ITERATIONS = Iterations((UNKNOWN,), False)


def iterations_of(run: Evaluator, value: AbstractValue) -> Iterations:
    match value:
        case SequenceValue(items=tuple(items)) if len(items) <= MOST_ITEMS:
            return Iterations(items, True)
        case Constant(value=str(text)) if len(text) <= MOST_ITEMS:
            return Iterations(tuple(Constant(item) for item in text), True)
        case DictValue(items=dict(entries)):
            return Iterations(tuple(Constant(key) for key in entries), True)
        case LayerValue(kind="Sequential" | "ModuleList", children=children) if (
            value.escaped is False
        ):
            return Iterations(tuple(children.values()), True)
        case LoaderValue():
            return Iterations((batch_of(run, value),), False)
        case TensorValue():
            return tensor_rows(run, value)
        case ShapeValue(tensor=tensor) if not tensor.shape.more:
            return Iterations(tuple(size_value(size) for size in tensor.shape.sizes), True)
        case LibraryObject(name="range"):
            return range_iterations(value)
        case LibraryObject(name="enumerate"):
            return enumerate_iterations(iterations_of(run, value.of[0]), value.arguments["start"])
        case LibraryObject(name="zip"):
            return zip_iterations([iterations_of(run, item) for item in value.of])
    return UNKNOWN_ITERATIONS


def tensor_rows(run: Evaluator, tensor: TensorValue) -> Iterations:
    size = tensor.shape.size(0)
    row = any_row(run, tensor)
    if isinstance(size, int) and size <= 8:
        return Iterations((row,) * size, True)
    return Iterations((row,), False)


def range_iterations(value: LibraryObject) -> Iterations:
    ends = [number for item in value.of if (number := integer_of(item)) is not None]
    if len(ends) != len(value.of) or len(ends) not in (1, 2, 3) or ends[2:] == [0]:
        return Iterations((Integer(),), False)
    numbers = range(*ends)
    if len(numbers) > MOST_ITEMS:
        return Iterations(tuple(Constant(number) for number in numbers[:2]), False)
    return Iterations(tuple(Constant(number) for number in numbers), True)


def enumerate_iterations(iterations: Iterations, start: AbstractValue) -> Iterations:
    first = integer_of(start)
    pairs = [
        sequence("tuple", (Constant(first + at) if first is not None else Integer(), item))
        for at, item in enumerate(iterations.items)
    ]
    if not iterations.all_known and first is not None and len(pairs) == 1:
        pairs.append(sequence("tuple", (Constant(first + 1), iterations.items[0])))
    return Iterations(tuple(pairs), iterations.all_known)


def zip_iterations(several: list[Iterations]) -> Iterations:
    if not several:
        return UNKNOWN_ITERATIONS
    if all(item.all_known for item in several):
        count = min(len(item.items) for item in several)
        rows = [sequence("tuple", [item.items[at] for item in several]) for at in range(count)]
        return Iterations(tuple(rows), True)
    if any(not item.items for item in several):
        return Iterations((), True)
    return Iterations((sequence("tuple", [item.item(0) for item in several]),), False)


def unpack(run: Evaluator, value: AbstractValue, count: int) -> list[AbstractValue] | None:
    """The members of what is taken apart into so many names; None where they are not known."""
    if isinstance(value, ShapeValue):
        shape = value.tensor.shape
        if shape.more and len(shape.sizes) <= count:
            shape = Shape((*(None,) * (count - len(shape.sizes)), *shape.sizes))
        if len(shape.sizes) == count and not shape.more:
            return [size_value(size) for size in shape.sizes]
        return None
    if isinstance(value, ImportedName | LoaderValue):
        return None
    iterations = iterations_of(run, value)
    if iterations.all_known and len(iterations.items) == count:
        return list(iterations.items)
    if isinstance(value, TensorValue):
        return [iterations.item(0) for _ in range(count)]
    return None


def batch_of(run: Evaluator, loader: LoaderValue) -> AbstractValue:
    """One batch; its number of rows is not known, and the same in all its tensors."""
    run.sizes += 1
    rows = SymbolicSize(run.sizes)
    row = dataset_row(run, loader.dataset)
    if loader.collate is None:
        return collate(row, rows)
    if isinstance(loader.collate, FunctionValue | BoundMethod | InstanceValue):
        return run.call(loader.collate, Arguments([sequence("list", None)]), loader.node)
    return UNKNOWN


def dataset_row(run: Evaluator, dataset: AbstractValue) -> AbstractValue:
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
        case Constant(value=float()) | Real():
            return column_of_numbers(rows, "float64", origin_of(row))
        case SequenceValue(items=tuple(items)):
            return sequence("list", [collate(item, rows) for item in items])
        case DictValue(items=dict(entries)):
            return DictValue({key: collate(item, rows) for key, item in entries.items()})
    return UNKNOWN


def column_of_numbers(rows: Size, dtype: str, node: ast.AST | None) -> TensorValue:
    return TensorValue(Shape((rows,)), dtype, graph=False, dtype_at=node, device=CPU)
