"""Whether inputs were scaled by numbers of the training rows, or of others as well."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledColumns:
    """Of all rows together: columns with mean 0 and deviation 1 to rounding, or from 0 to 1."""

    way: str
    """`mean and deviation`, `range`."""
    arrays: tuple[str, ...]
    """The variables that hold these rows: one of all of them, or several beside each other."""
    trained: str
    """The variable that holds the training rows alone."""
    rows: int
    trained_rows: int
    columns: int
    """With fractions, not all alike: those that can have been scaled."""
    exact: int
    """That are scaled so over all rows."""
    exact_in_training: int
    """Of these, columns that are so over the training rows alone, too."""
    mean: float
    """Of the training rows, in the column where it is farthest from that of all."""
    spread: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRows(Measure):
    """Of one process, at an evaluation."""

    step: int
    place: Place | None
    """The user's line that evaluates."""
    rows: int = 0
    """Training rows that were found in an array without those of the evaluation."""
    scaled: tuple[ScaledColumns, ...] = ()
