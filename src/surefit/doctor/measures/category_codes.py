"""Numbers that categories are given, each time that they are numbered."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoNumberings:
    """The same categories, numbered twice before training, with different results."""

    column: str
    function: str
    stack: tuple[Place, ...]
    """The user's lines at the first, innermost first."""
    again: tuple[Place, ...]
    """At the second."""
    first: int
    """Categories of the first."""
    second: int
    shared: int
    """Categories of both."""
    moved: int
    """Of them, those that have different numbers."""
    example: str
    """One of these."""
    numbers: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryCodes(Measure):
    """Of one process."""

    steps: int
    numbered: int
    """Times that categories were numbered before training."""
    embeds: bool
    """The model looks ids up in a table."""
    changes: tuple[TwoNumberings, ...]
