"""Targets that stand in the inputs of their own rows."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsInInputs(Measure):
    """Of the first losses whose rows have one number as target and several as input."""

    place: Place | None
    """The user's line of the loss."""
    name: str
    rows: int
    values: int
    """Different targets among them, as far as batches were counted: the most of a batch."""
    looked: int
    step: int
    shape: tuple[int, ...]
    """Of the input."""
    positions: tuple[int, ...]
    """Elements of an input row that equal the target in every row, the row laid out flat."""
