"""Parameters that two layers shared until a line put another in the place of one of them."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class PartedTie:
    """A shared parameter was replaced in one layer, by one of other values."""

    replaced: str
    """`Embedding.weight`."""
    left: str
    """The layer that still has the old one: `Linear.weight`."""
    place: Place
    tied_at: Place | None
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartedTies(Measure):
    """Of one process."""

    tied: int
    """Parameters that a second layer was given."""
    parted: tuple[PartedTie, ...] = ()
