"""Properties of values that a birth can be asked for."""

from collections.abc import Callable
from dataclasses import dataclass

from surefit.doctor.observations import Value


@dataclass(frozen=True, slots=True)
class Property:
    """A predicate on values, and its words."""

    words: str
    holds: Callable[[Value], bool]


def dtype(name: str) -> Property:
    return Property(name, lambda value: value.dtype == name)
