"""Whether inputs and targets that a loss sees are pairs of the arrays that they come from."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPair:
    """Two variables of a frame with as many rows: one holds the input rows, the other labels."""

    place: Place
    """Where the frame was when they were looked at."""
    inputs: str
    targets: str
    length: int
    rows: int
    """Trained rows that were found in `inputs`."""
    equal: int
    """Of them, rows whose target is what `targets` holds at the same position."""
    mapped: int
    """Rows whose target is the one that most rows with the same value in `targets` have."""
    majority: int
    """Rows of the most frequent target."""
    unlike: float
    """How far the values of `targets` are from those of the loss, as shares: 0 alike, 1 others."""
    apart: int = 0
    """Rows at which the indices of a data frame and of its labels, which hold the same index
    values, differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPairs(Measure):
    """Of one process, once."""

    step: int
    rows: int
    pairs: tuple[ArrayPair, ...]
