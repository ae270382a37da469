"""Maps of class numbers that were resampled, and the maps that a loss was given as targets."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampledMaps:
    """Calls of one line whose result has numbers that its input does not have."""

    function: str
    """`interpolate`, `resize`."""
    call: CallSite
    calls: int
    """That were looked at."""
    classes: tuple[int, ...]
    """Numbers in the inputs, of one call."""
    others: tuple[int, ...]
    """Integers in the result of that call that its input does not have, once it is converted."""
    share: float
    """Of the elements of that result that are none of the numbers of its input."""
    prints: tuple[int, ...]
    """Of each result: how often it has which integer, as one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMaps(Measure):
    """Of one process."""

    resampled: tuple[ResampledMaps, ...] = ()
    targets: tuple[int, ...] = ()
    """Prints of the rows that a loss was given as integer targets."""
    looked: int = 0
    """Rows of targets."""
    loss: str = ""
    place: Place | None = None
