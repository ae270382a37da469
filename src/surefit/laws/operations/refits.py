"""Changes of one operand after which the failing call meets every demand of its contract."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from surefit.doctor.observations import Value
from surefit.laws.contracts.operations import DemandBroken
from surefit.laws.operations.dtypes import TENSOR_CASTS

MOST_AXES = 5
MOST = 4
PARAMETER = "Parameter"


@dataclass(frozen=True, slots=True)
class Refit:
    """A method behind one operand."""

    argument: str
    suffix: str
    """`.transpose(1, 2)`, `.unsqueeze(1)`, `.long()`."""
    shape: tuple[int, ...]
    keeps_rows: bool = True
    """The first axis stays the first."""


def refits(broken: DemandBroken) -> list[Refit]:
    """What names another axis, adds or drops one, or casts; what keeps the rows first comes
    first."""
    sides = [side for side in (broken.conflict.side, broken.conflict.other) if side is not None]
    arguments = dict.fromkeys(side.argument for side in sides)
    found = chain.from_iterable(of_operand(broken, argument) for argument in arguments)
    return sorted(found, key=lambda refit: not refit.keeps_rows)[:MOST]


def of_operand(broken: DemandBroken, argument: str) -> Iterator[Refit]:
    operand = broken.call.operands.get(argument)
    value = operand.value if operand is not None else None
    if value is None or value.shape is None or value.kind == PARAMETER:
        return
    for suffix, after in (*casts(broken, value), *reordered(value), *added(value), *dropped(value)):
        if broken.met_with({argument: after}):
            shape = after.shape or ()
            keeps = bool(shape) and shape[0] == (value.shape or (0,))[0]
            yield Refit(argument, suffix, shape, keeps)


Candidate = tuple[str, Value]


def casts(broken: DemandBroken, value: Value) -> Iterator[Candidate]:
    """Integers become floats only; numbers after the point are not dropped."""
    if broken.conflict.about != "dtype":
        return
    whole = value.dtype in ("int32", "int64", "int16", "int8", "uint8", "bool")
    for dtype, method in TENSOR_CASTS.items():
        if dtype != value.dtype and (whole or dtype.startswith(("float", "bfloat"))):
            yield f".{method}()", replace(value, dtype=dtype)


def reordered(value: Value) -> Iterator[Candidate]:
    """One axis goes elsewhere, and the others keep their order."""
    shape = value.shape or ()
    if not 1 < len(shape) <= MOST_AXES:
        return
    orders = dict.fromkeys(
        moved(len(shape), origin, to)
        for origin in range(len(shape))
        for to in range(len(shape))
        if origin != to
    )
    for order in orders:
        yield named(order), with_shape(value, tuple(shape[axis] for axis in order))


def moved(count: int, origin: int, to: int) -> tuple[int, ...]:
    order = [axis for axis in range(count) if axis != origin]
    order.insert(to, origin)
    return tuple(order)


def named(order: tuple[int, ...]) -> str:
    swapped = [axis for at, axis in enumerate(order) if at != axis]
    if len(swapped) == 2:
        return f".transpose({min(swapped)}, {max(swapped)})"
    return f".permute({', '.join(map(str, order))})"


def added(value: Value) -> Iterator[Candidate]:
    shape = value.shape or ()
    for at in range(len(shape), -1, -1):
        if len(shape) < MOST_AXES:
            yield f".unsqueeze({at})", with_shape(value, (*shape[:at], 1, *shape[at:]))


def dropped(value: Value) -> Iterator[Candidate]:
    shape = value.shape or ()
    for at, size in enumerate(shape):
        if size == 1:
            yield f".squeeze({at})", with_shape(value, (*shape[:at], *shape[at + 1 :]))


def with_shape(value: Value, shape: tuple[int, ...]) -> Value:
    return replace(value, shape=shape, stride=None, contiguous=None)
