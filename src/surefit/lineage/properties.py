"""Properties of a value, each with the words for it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

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


def tensor_dtype(name: str) -> Property:
    """Arrays and plain numbers of it do not count: to compute with those in float64 is usual."""

    def holds(value: Value) -> bool | None:
        return value.dtype == name if value.device is not None else False

    return Property(f"is a tensor of {name}", holds)


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


def of_several(inner: Property) -> Property:
    """The same of a tensor, an array or a list; a plain number does not have it, and a tuple is as
    often a shape."""

    def holds(value: Value) -> bool | None:
        if value.scalar is not None:
            return False
        return inner.holds(value) if value.kind not in ("tuple", "Size") else None

    return Property(inner.words, holds)


def equals(number: float) -> Property:
    def holds(value: Value) -> bool | None:
        if value.scalar is None and value.kind in ("", "NoneType"):
            return None
        return type(value.scalar) in (int, float) and value.scalar == number

    return Property(f"is {number:g}", holds)


def contains(number: float) -> Property:
    """As its least or its greatest number, which is where markers are."""

    def holds(value: Value) -> bool | None:
        pair = numbers(value)
        return number in pair if pair is not None else None

    return Property(f"holds {number:g}", holds)


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


def array_axes(count: int) -> Property:
    """Of a tensor or an array: a list that one is made of does not count."""

    def holds(value: Value) -> bool | None:
        return value.shape is not None and len(value.shape) == count

    words = f"has {count} axes" if count != 1 else "has one axis"
    return Property(words, holds, of_rows=array_axes(count - 1) if count > 0 else None)


def beside_numbers(value: Value) -> set[str]:
    """Of a table: dtypes of columns for which, beside those of the others, NumPy has no dtype but
    that of Python objects."""
    others = {kind for kind in value.kinds if not kind.startswith(("int", "uint", "float"))}
    return others if value.kind == "DataFrame" and len(value.kinds) > 1 else set()


def objects(beside: set[str]) -> Property:
    """An array of them, or a table whose array is of them for the same reason."""

    def holds(value: Value) -> bool:
        columns = beside_numbers(value)
        return value.dtype == "object" or (bool(columns) and columns == (beside or columns))

    return Property("is of Python objects", holds)


def alike(value: Value) -> Property:
    """Of the same class and shape, and where it is a number or a text, of the same content."""

    def holds(other: Value) -> bool | None:
        known = other.kind, other.shape, other.dtype, other.scalar
        return known == (value.kind, value.shape, value.dtype, value.scalar)

    return Property(f"is a {value.kind}", holds)


def size(axis: int, length: int) -> Property:
    def holds(value: Value) -> bool | None:
        shape = shape_of(value)
        if shape is None:
            return None
        inside = -len(shape) <= axis < len(shape)
        return inside and shape[axis] == length

    of_rows = size(axis - 1, length) if axis > 0 else None
    return Property(f"has {length:,} along axis {axis}", holds, of_rows=of_rows)


def shape(sizes: tuple[int, ...]) -> Property:
    def holds(value: Value) -> bool | None:
        known = shape_of(value)
        return known == sizes if known is not None else None

    return Property(f"has shape {sizes}", holds, of_rows=shape(sizes[1:]) if sizes else None)


def length(count: int) -> Property:
    def holds(value: Value) -> bool | None:
        known = value.length if value.length is not None else (value.shape or (None,))[0]
        return known == count if known is not None else None

    return Property(f"has length {count:,}", holds)


not_contiguous = Property(
    "is not contiguous",
    lambda value: not value.contiguous if value.contiguous is not None else None,
)
negative_strides = Property(
    "has negative strides",
    lambda value: is_read_in_steps(value, lambda step: step < 0),
)
repeated_elements = Property(
    "has elements that share their memory",
    lambda value: is_read_in_steps(value, lambda step: step == 0),
)
read_only = Property("is read-only", lambda value: value.read_only)
in_a_graph = Property(
    "is part of a graph",
    lambda value: bool(value.requires_grad and not value.leaf) if value.leaf is not None else None,
)


def is_read_in_steps(value: Value, such: Callable[[int], bool]) -> bool | None:
    """Of an array or a tensor: along an axis of more than one element."""
    if value.stride is None or value.shape is None:
        return None
    sizes = zip(value.stride, value.shape, strict=True)
    return any(such(step) and size > 1 for step, size in sizes)


text = Property("is text", lambda value: value.kind == "str" or set(value.kinds) == {"str"})


def is_without_a_number(value: Value) -> bool | None:
    """NaN, infinity, or missing in a table."""
    if value.not_finite is not None:
        return value.not_finite > 0
    if isinstance(value.scalar, float):
        return not isfinite(value.scalar)
    if value.kind == "Series":
        return value.nones > 0
    columns = [member.nones for member in value.members.values() if member.kind == "Series"]
    return any(columns) if columns else None


not_finite = Property("is NaN or infinite", is_without_a_number)
none = Property("is None", lambda value: value.kind == "NoneType" or value.nones > 0)
no_grad = Property(
    "does not require a gradient",
    lambda value: not value.requires_grad if value.requires_grad is not None else None,
)


def on_device(device: str) -> Property:
    def holds(value: Value) -> bool | None:
        return value.device == device if value.device is not None else None

    return Property(f"is on {device}", holds)


def kind(name: str) -> Property:
    return Property(f"is a {name}", lambda value: value.kind == name)


def has_gaps(value: Value) -> bool | None:
    """Of a table or a column of pandas, or of several in a tuple."""
    inside = [member.numbered for member in value.members.values() if member.numbered is not None]
    known = [value.numbered] if value.numbered is not None else inside
    return not all(known) if known else None


index_with_gaps = Property("has an index other than 0, 1, 2...", has_gaps)
empty = Property(
    "is empty",
    lambda value: value.length == 0 if value.length is not None and value.scalar is None else None,
)


def has_key(name: str) -> Property:
    def holds(value: Value) -> bool | None:
        are_settings = value.kind.endswith("DataLoader")
        return name in value.members if value.members and not are_settings else None

    return Property(f"has the key {name}", holds)


def is_batch_of_one(value: Value) -> bool | None:
    """A tensor or an array of (1, ...), a list of one, or a mapping of nothing but such."""
    if value.shape is not None:
        return len(value.shape) > 1 and value.shape[0] == 1
    if value.kind in ("list", "tuple"):
        return value.length == 1
    if value.scalar is not None or value.kind == "str":
        return False
    parts = [is_batch_of_one(member) for member in value.members.values()]
    known = [part for part in parts if part is not None]
    return all(known) if known and value.length is not None else None


batch_of_one = Property("is a batch of one", is_batch_of_one)


def has_column(name: str) -> Property:
    """A table that has a column of this name."""

    def holds(value: Value) -> bool | None:
        if value.kind not in ("Dataset", "DatasetDict"):
            return False
        return name in value.members if value.members else None

    return Property(f"has a column `{name}`", holds)
