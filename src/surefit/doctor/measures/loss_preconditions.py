"""What losses demand of their arguments in torch's documentation and do not check."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure

SIGNS = {
    "cosine_embedding_loss": 2,
    "margin_ranking_loss": 2,
    "hinge_embedding_loss": 1,
    "soft_margin_loss": 1,
}
"""Losses whose targets are 1 and -1 -> the position of the target among their arguments."""
TRIPLETS = ("triplet_margin_loss", "triplet_margin_with_distance_loss")
"""They take anchor, positive and negative, in this order."""
CTC = "ctc_loss"
"""Its targets name classes; the blank is between them and none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreconditionSite:
    """Calls of one loss from one line, with gradients; counts are over those looked at."""

    name: str
    place: Place | None
    calls: int
    looked: int
    elements: int = 0
    """Targets."""
    zeros: int = 0
    negatives: int = 0
    """Targets of 0 and below it, for a loss that takes 1 and -1."""
    blank: int = 0
    blanks: int = 0
    """Targets that are the blank, within their lengths; `lasts` are those that are the last
    class."""
    lasts: int = 0
    classes: int = 0
    swapped: int = 0
    """Calls whose positive is the negative with its rows in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPreconditions(Measure):
    """At these losses of one process."""

    sites: tuple[PreconditionSite, ...] = ()
