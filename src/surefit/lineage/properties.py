"""Properties of a value, each with the words for it."""

from collections.abc import Callable
from dataclasses import dataclass

from surefit.doctor.observations import Value

FLOATING = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


@dataclass(frozen=True, slots=True)
class Property:
    """Something that a value has or has not; None where its description does not say."""

    words: str
    """After "is" or "has": `is float64`, `has 3 axes`."""
    holds: Callable[[Value], bool | None]
    measure: Callable[[Value], float | None] = lambda _value: None
    """The number that it is about: an input with another one has it by coincidence."""
    of_rows: "Property | None" = None
    """What each row has if a batch of rows has this; None where that is the same."""


def dtype(name: str) -> Property:
    return Property(f"is {name}", lambda value: dtype_is(value, (name,)))


floating = Property("is floating point", lambda value: dtype_is(value, FLOATING))


def dtype_is(value: Value, names: tuple[str, ...]) -> bool | None:
    """A plain number counts as the dtype that a tensor of it would have."""
    if value.dtype is not None:
        return value.dtype in names
    kinds = set(value.kinds) if value.kinds else {type(value.scalar).__name__}
    plain = {"int": "int64", "float": "float64", "bool": "bool", "nan": "float64"}
    if not kinds <= set(plain):
        return None
    return "float64" in names if kinds & {"float", "nan"} else plain[min(kinds)] in names


def numbers(value: Value) -> tuple[float, float] | None:
    """Least and greatest, as far as the value was looked at."""
    if value.least is not None and value.greatest is not None:
        return value.least, value.greatest
    if isinstance(value.scalar, bool | int | float):
        return float(value.scalar), float(value.scalar)
    inside = [pair for member in value.members.values() if (pair := numbers(member)) is not None]
    if inside and len(inside) == (value.length or len(value.members)):
        return min(low for low, _ in inside), max(high for _, high in inside)
    return None


def least(value: Value) -> float | None:
    pair = numbers(value)
    return pair[0] if pair is not None else None


def greatest(value: Value) -> float | None:
    pair = numbers(value)
    return pair[1] if pair is not None else None


def holds_at_least(number: float) -> Property:
    def holds(value: Value) -> bool | None:
        pair = numbers(value)
        return pair[1] >= number if pair is not None else None

    return Property(f"holds a number of at least {number:g}", holds, greatest)


def holds_below(number: float) -> Property:
    def holds(value: Value) -> bool | None:
        pair = numbers(value)
        return pair[0] < number if pair is not None else None

    return Property(f"holds a number below {number:g}", holds, least)


def shape_of(value: Value) -> tuple[int, ...] | None:
    """Of a tensor or an array; of a list of numbers its length, of a plain number ()."""
    if value.shape is not None:
        return value.shape
    if isinstance(value.scalar, bool | int | float):
        return ()
    if value.length is None or value.scalar is not None:
        return None
    if value.lengths is not None:
        return (value.length, value.lengths[0]) if len(set(value.lengths)) == 1 else None
    return (value.length,) if set(value.kinds) <= {"int", "float", "bool", "nan"} else None


def axes(count: int) -> Property:
    def holds(value: Value) -> bool | None:
        shape = shape_of(value)
        return len(shape) == count if shape is not None else None

    words = f"has {count} axes" if count != 1 else "has one axis"
    return Property(words, holds, of_rows=axes(count - 1) if count > 0 else None)


def size(axis: int, length: int) -> Property:
    def holds(value: Value) -> bool | None:
        shape = shape_of(value)
        if shape is None:
            return None
        inside = -len(shape) <= axis < len(shape)
        return inside and shape[axis] == length

    of_rows = size(axis - 1, length) if axis > 0 else None
    return Property(f"has {length:,} along axis {axis}", holds, of_rows=of_rows)


def length(count: int) -> Property:
    def holds(value: Value) -> bool | None:
        known = value.length if value.length is not None else (value.shape or (None,))[0]
        return known == count if known is not None else None

    return Property(f"has length {count:,}", holds)


not_contiguous = Property(
    "is not contiguous",
    lambda value: not value.contiguous if value.contiguous is not None else None,
)
text = Property("is text", lambda value: value.kind == "str" or set(value.kinds) == {"str"})
none = Property("is None", lambda value: value.kind == "NoneType" or value.nones > 0)
no_grad = Property(
    "does not require a gradient",
    lambda value: not value.requires_grad if value.requires_grad is not None else None,
)
ragged = Property(
    "has rows of different lengths",
    lambda value: len(set(value.lengths)) > 1 if value.lengths is not None else None,
)


def is_not_finite(value: Value) -> bool | None:
    if value.not_finite is not None:
        return value.not_finite > 0
    if isinstance(value.scalar, float):
        return value.scalar != value.scalar or abs(value.scalar) == float("inf")
    if value.kinds:
        return "nan" in value.kinds
    return False if isinstance(value.scalar, int) else None


not_finite = Property("holds a number that is not finite", is_not_finite)


def on_device(device: str) -> Property:
    def holds(value: Value) -> bool | None:
        return value.device == device if value.device is not None else None

    return Property(f"is on {device}", holds)


def kind(name: str) -> Property:
    return Property(f"is a {name}", lambda value: value.kind == name)
