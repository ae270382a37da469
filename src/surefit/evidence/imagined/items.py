"""What a loop goes over, and what a tuple of names takes apart."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.batches import batch_of
from surefit.evidence.imagined.shapes import Shape
from surefit.evidence.imagined.values import (
    UNKNOWN,
    External,
    Known,
    Layer,
    Listed,
    Loader,
    Made,
    Mapped,
    Tensor,
    Whole,
    listed,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

MOST_LISTED = 64


@dataclass(frozen=True, slots=True)
class Rounds:
    """Members in order; with `all_known` these are all there are."""

    items: tuple[Any, ...]
    all_known: bool

    def item(self, number: int) -> Any:
        return self.items[min(number, len(self.items) - 1)]


NOTHING_KNOWN = Rounds((UNKNOWN,), False)


def rounds_of(run: "Run", value: Any) -> Rounds:
    match value:
        case Listed(state={"items": tuple(items)}) if len(items) <= MOST_LISTED:
            return Rounds(items, True)
        case Known(value=str(text)) if len(text) <= MOST_LISTED:
            return Rounds(tuple(Known(one) for one in text), True)
        case Mapped(state={"items": dict(entries)}):
            return Rounds(tuple(Known(key) for key in entries), True)
        case Layer(kind="Sequential" | "ModuleList", children=children) if (
            value.state["escaped"] is False
        ):
            return Rounds(tuple(children.values()), True)
        case Loader():
            return Rounds((batch_of(run, value),), False)
        case Tensor():
            return tensor_rows(run, value)
        case SizesOf(tensor=tensor) if not tensor.shape.more:
            return Rounds(tuple(as_value(one) for one in tensor.shape.sizes), True)
        case Made(name="range"):
            return range_rounds(value)
        case Made(name="enumerate"):
            return numbered(rounds_of(run, value.given["of"]), value.given["start"])
        case Made(name="zip"):
            return zipped([rounds_of(run, one) for one in value.given["of"]])
    return NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class SizesOf:
    """`x.shape`."""

    tensor: Tensor


def as_value(size: Any) -> Any:
    return Known(size) if isinstance(size, int) else Whole(size)


def tensor_rows(run: "Run", tensor: Tensor) -> Rounds:
    from surefit.evidence.imagined.operators import row_of

    size = tensor.shape.size(0)
    row = row_of(run, tensor)
    if isinstance(size, int) and size <= 8:
        return Rounds((row,) * size, True)
    return Rounds((row,), False)


def range_rounds(value: Made) -> Rounds:
    numbers = [whole(one) for one in value.given["of"]]
    if any(one is None for one in numbers):
        return Rounds((Whole(),), False)
    try:
        found = range(*(one for one in numbers if one is not None))
    except (TypeError, ValueError):
        return Rounds((Whole(),), False)
    if len(found) > MOST_LISTED:
        return Rounds(tuple(Known(one) for one in found[:2]), False)
    return Rounds(tuple(Known(one) for one in found), True)


def numbered(rounds: Rounds, start: Any) -> Rounds:
    first = whole(start)
    pairs = [
        listed("tuple", (Known(first + at) if first is not None else Whole(), one))
        for at, one in enumerate(rounds.items)
    ]
    if not rounds.all_known and first is not None and len(pairs) == 1:
        pairs.append(listed("tuple", (Known(first + 1), rounds.items[0])))
    return Rounds(tuple(pairs), rounds.all_known)


def zipped(several: list[Rounds]) -> Rounds:
    if not several:
        return NOTHING_KNOWN
    if all(one.all_known for one in several):
        count = min(len(one.items) for one in several)
        rows = [listed("tuple", [one.items[at] for one in several]) for at in range(count)]
        return Rounds(tuple(rows), True)
    if any(not one.items for one in several):
        return Rounds((), True)
    return Rounds((listed("tuple", [one.item(0) for one in several]),), False)


def unpacked(run: "Run", value: Any, count: int) -> list[Any] | None:
    """The members of what is taken apart into so many names; None where they are not known."""
    if isinstance(value, SizesOf):
        shape = value.tensor.shape
        if shape.more and len(shape.sizes) <= count:
            front: list[Any] = [None] * (count - len(shape.sizes))
            shape = Shape((*front, *shape.sizes))
        if len(shape.sizes) == count and not shape.more:
            return [as_value(one) for one in shape.sizes]
        return None
    if isinstance(value, External | Loader):
        return None
    rounds = rounds_of(run, value)
    if rounds.all_known and len(rounds.items) == count:
        return list(rounds.items)
    if isinstance(value, Tensor):
        return [rounds.item(0) for _ in range(count)]
    return None
