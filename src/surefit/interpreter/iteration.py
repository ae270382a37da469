"""What a loop iterates over, and what a tuple of names takes apart."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefit.interpreter.batches import batch_of
from surefit.interpreter.indexing import any_row
from surefit.interpreter.shapes import Shape
from surefit.interpreter.value_queries import integer_of, sequence, size_value
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    ImportedName,
    Integer,
    LayerValue,
    LibraryObject,
    LoaderValue,
    SequenceValue,
    ShapeValue,
    TensorValue,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


MOST_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Iterations:
    """Members in order; with `all_known` these are all there are."""

    items: tuple[AbstractValue, ...]
    all_known: bool

    def item(self, number: int) -> AbstractValue:
        return self.items[min(number, len(self.items) - 1)]


UNKNOWN_ITERATIONS = Iterations((UNKNOWN,), False)


def iterations_of(run: "Evaluator", value: AbstractValue) -> Iterations:
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


def tensor_rows(run: "Evaluator", tensor: TensorValue) -> Iterations:
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


def unpack(run: "Evaluator", value: AbstractValue, count: int) -> list[AbstractValue] | None:
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
