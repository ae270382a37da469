"""The operation that stacked the rows of a batch several times on its axis, and in which order."""

from dataclasses import dataclass

from surefit.doctor.observations import Frame
from surefit.laws.size_history import (
    JOINS,
    RESHAPES,
    history,
    operation,
    shape,
    tensors,
    users,
)
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, Way


@dataclass(frozen=True, slots=True)
class Stacking:
    """Where rows were stacked."""

    use: Producer
    """The user's expression."""
    by_row: bool
    """All copies of the first row come first, as with `repeat_interleave`; otherwise the batch as a
    whole is repeated, as with `repeat`."""


def stacking_of(lineage: Lineage, rows: int, copies: int) -> Stacking | None:
    """Back from the tensor with more rows."""
    path = history(lineage, rows * copies)
    for producer in path:
        by_row = order_of(lineage, producer, rows, copies)
        if by_row is not None:
            return Stacking(users(path, producer), by_row)
    return None


def order_of(lineage: Lineage, producer: Producer, rows: int, copies: int) -> bool | None:
    """Whether the copies of a row stay together; None where the expression stacks nothing, or its
    order cannot be told from the shapes."""
    before = [inner for inner in tensors(lineage, producer) if shape(inner)]
    word = operation(producer)
    if shape(producer)[:1] != (rows * copies,):
        return None
    if word in JOINS:
        return False if shares_rows(lineage, producer, rows) else None
    if word in RESHAPES and before:
        first = shape(before[0])[:2]
        if first == (rows, copies) == (copies, rows):
            return by_moved_axes(before[0], lineage)
        return True if first == (rows, copies) else False if first == (copies, rows) else None
    if word in ("repeat_interleave", "repeat") and before and shape(before[0])[0] == rows:
        return word == "repeat_interleave"
    return None


def shares_rows(lineage: Lineage, producer: Producer, rows: int) -> bool:
    """Parts of a join, or of the list or tuple that it is given, have the rows of the batch."""
    parts = list(tensors(lineage, producer))
    inside = [part for outer in parts if not shape(outer) for part in tensors(lineage, outer)]
    members = [member.shape for outer in parts for member in outer.value.members.values()]
    shapes = [known for known in (*map(shape, (*parts, *inside)), *members) if known]
    return bool(shapes) and all(known[0] == rows for known in shapes)


def by_moved_axes(producer: Producer, lineage: Lineage) -> bool | None:
    """Where there are as many copies as rows: whether the first axis still is that of the rows."""
    at: Producer | None = producer
    while at is not None and operation(at) not in ("transpose", "permute"):
        at = next(iter(tensors(lineage, at)), None)
    inputs = lineage.inputs(at) if at is not None else ()
    numbers = [inner.value.scalar for way, inner in inputs if way.way is Way.ARGUMENT]
    if at is not None and operation(at) == "transpose":
        return True if numbers and 0 not in numbers else None
    return numbers[0] == 0 if 0 in numbers[:2] else None


def count_in(frame: Frame, copies: int) -> str:
    """What the frame calls the number of copies: `self.heads`; the number itself if nothing."""
    owner = frame.arguments[0] if frame.layer is not None and frame.arguments else ""
    sizes = frame.layer.sizes if frame.layer is not None else {}
    names = [f"{owner}.{key}" for key, size in sizes.items() if size == copies and "[" not in key]
    scalars = [value for value in frame.values if type(value.scalar) is int]
    names += [value.text for value in scalars if value.scalar == copies]
    heads = [name for name in names if "head" in name.lower()]
    return next(iter([*heads, *names]), str(copies))
