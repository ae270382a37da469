"""Columns that are put into data frames, and whether pandas gave their values to other rows."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedColumn:
    """As many values as the data frame has rows, under other index values: either the column or
    the data frame was numbered again, and the other has gaps where rows were left out."""

    stack: tuple[Place, ...]
    """The user's lines, innermost first."""
    rows: int
    moved: int
    """Rows that got the value of another position."""
    lost: int
    """Rows that got none."""
    frame_has_gaps: bool
    """Else the column has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRows(Measure):
    """Of one process, before training."""

    columns: int
    aligned: tuple[AlignedColumn, ...]
