"""What a clip of gradients is given, looked at without taking anything from an iterator."""

from types import GeneratorType
from typing import Any

MOST_LAYERS = 4
"""Filters around filters."""


def is_spent(given: Any) -> bool:
    """A generator that has ended, or a `filter` or `map` of one."""
    for _ in range(MOST_LAYERS):
        if type(given) is GeneratorType:
            return given.gi_frame is None
        if type(given) not in (filter, map):
            return False
        parts: Any = given.__reduce__()[1]
        if len(parts) != 2:
            return False
        given = parts[1]
    return False


def is_without_gradients(given: Any) -> bool:
    """A list without tensors, or one whose tensors all have no gradient."""
    if type(given) not in (list, tuple):
        return False
    return all(getattr(tensor, "grad", tensor) is None for tensor in given)
