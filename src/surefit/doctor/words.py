"""Numbers, shapes and sizes as people write them."""

from collections.abc import Iterable, Sequence

MOST_LISTED = 8
MOST_NAMED = 3

IRREGULAR = {
    "axis": "axes",
    "backward pass": "backward passes",
    "batch": "batches",
    "class": "classes",
    "entry": "entries",
    "process": "processes",
}


def counted(count: int, noun: str) -> str:
    """`1 row`, `1,144 labels`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {IRREGULAR.get(noun, noun + 's')}"


def listed(numbers: Sequence[int], most: int = MOST_LISTED) -> str:
    """`512, 468, 233`; of a long list the beginning, and how many more there are."""
    shown = ", ".join(str(number) for number in numbers[:most])
    left = len(numbers) - most
    return f"{shown} and {left:,} more" if left > 0 else shown


def spoken(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *before, last = list(names) or [""]
    return f"{', '.join(before)} and {last}" if before else last


def code(text: str) -> str:
    """In backticks, on one line."""
    return f"`{' '.join(text.split())}`"


def shape_of(shape: Sequence[int]) -> str:
    """`(256, 999, 4000)`, as Python writes it."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def times(numbers: Sequence[int]) -> str:
    """`256 × 999 × 4000`."""
    return " × ".join(str(number) for number in numbers)


def bytes_of(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:.0f} bytes"


def some(names: Iterable[str]) -> str:
    """The first few in backticks, and how many more."""
    every = list(dict.fromkeys(names))
    shown = [f"`{name}`" for name in every[:MOST_NAMED]]
    left = len(every) - len(shown)
    return spoken([*shown, f"{left:,} more"] if left else shown)
