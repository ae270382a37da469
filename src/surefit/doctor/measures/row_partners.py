"""Whether targets that are rows of a stored array belong to the rows that the model was given."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Partners:
    """Two variables with as many rows: one holds the input rows, the other those of the target."""

    place: Place
    """Where the frame was when they were looked at."""
    inputs: str
    targets: str
    length: int
    rows: int
    """Rows of batches whose input and whose target were found."""
    same: int
    """Of them, rows that have the same position in both."""
    within: int
    """Rows whose target belongs to some row of the same batch."""
    follow: int
    """Rows of batches after the first of each."""
    inputs_follow: int
    """Of them, rows whose input comes next after that of the row before."""
    targets_follow: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPartners(Measure):
    """Of one process, once."""

    step: int
    partners: tuple[Partners, ...]
