"""Values in words: the shape of a tensor, the lengths in a list, a number as it is."""

from surefit.doctor.observations import Value
from surefit.doctor.words import counted, listed, shape_of
from surefit.laws.layers.layer_words import described

LONGEST = 60
MOST_MEMBERS = 6
MOST_NUMBERS = 8
TABLES = ("DataFrame", "Dataset")
COLUMNS = ("Series", "Column")


def in_words(value: Value) -> str:
    """Everything about a value that tells it from another one of its kind."""
    if value.shape is not None:
        return tensor(value)
    if value.layer is not None:
        return described(value.layer)
    if value.kind == "NoneType":
        return "None"
    if value.scalar is not None:
        return shortened(repr(value.scalar))
    return collection(value) if value.length is not None else a_kind(value)


def tensor(value: Value) -> str:
    """`float32 (8, 128) on cuda:0, 3 of them not finite`."""
    kind = "" if value.kind in ("Tensor", "Parameter", "ndarray") else f"{value.kind} "
    said = f"{kind}{value.dtype} {shape_of(value.shape or ())}"
    is_integer = (value.dtype or "").startswith(("int", "uint"))
    if value.device not in (None, "cpu"):
        said += f" on {value.device}"
    if value.least is not None and value.greatest is not None and is_integer:
        said += f", from {value.least:g} to {value.greatest:g}"
    if value.not_finite:
        said += f", {value.not_finite:,} of them not finite"
    if value.kind == "ndarray" and value.members:
        place, cell = next(iter(value.members.items()))
        said += f", in which {place} is {in_words(cell)}"
    return f"{said}, in {value.file}" if value.file else said


def collection(value: Value) -> str:
    if value.kind in ("list", "tuple", "Size"):
        return sequence(value)
    if value.kind in TABLES or value.kind in COLUMNS:
        return table(value)
    inside = [f"{name} {in_words(one)}" for name, one in list(value.members.items())[:MOST_MEMBERS]]
    more = ", ..." if (value.length or 0) > len(inside) else ""
    return f"{value.kind} of {value.length:,}: {', '.join(inside)}{more}"


def table(value: Value) -> str:
    """`DataFrame of 120 rows, columns body, label`; of a column how many values are missing."""
    said = f"{value.kind} of {counted(value.length or 0, 'row')}"
    if value.nones:
        said += f", {value.nones:,} of them missing"
    return f"{said}, columns {', '.join(value.members)}" if value.members else said


def sequence(value: Value) -> str:
    numbers = [number for one in value.members.values() if type(number := one.scalar) is int]
    if numbers and len(numbers) == len(value.members) <= MOST_NUMBERS:
        return shape_of(numbers) if value.kind != "list" else f"[{', '.join(map(str, numbers))}]"
    said = f"{value.kind} of {value.length:,}"
    if value.lengths and len(set(value.lengths)) > 1:
        said += f", lengths {listed(value.lengths)}"
    elif value.lengths:
        said += f", each of {counted(value.lengths[0], 'item')}"
    if value.nones:
        said += f", {value.nones:,} of them None"
    return said


def a_kind(value: Value) -> str:
    numbers = [
        f"{name}={in_words(member)}"
        for name, member in value.members.items()
        if member.scalar is not None and member.kind != "bool"
    ]
    return shortened(f"{value.kind}({', '.join(numbers)})") if numbers else value.kind


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
