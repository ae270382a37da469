"""How well the targets of a picture lie where its contents lie, as they are and turned."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned(Measure):
    """Of the first losses whose targets have a value for each pixel of a square input."""

    place: Place | None
    """The user's line of the loss."""
    rows: int
    shape: tuple[int, ...]
    """Of the input."""
    step: int
    likeness: dict[str, float]
    """Correlation of input and target, the largest over channels, mean over rows: `as it is`,
    `transposed` and so on, of the target."""
    best: dict[str, int]
    """Rows for which that is the largest."""
