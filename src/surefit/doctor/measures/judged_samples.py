"""What one model makes of another's outputs, and with which constant targets."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLoss:
    """Losses of one line with one number as every target, on what a judging model said."""

    name: str
    place: Place | None
    judge: int
    """Number of the judging model."""
    maker: int
    """Of the model whose output it was given; 0 for other inputs."""
    attached: bool
    """The gradient goes on into the maker, and the loss is minimised."""
    target: float
    looked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSamples(Measure):
    """In one process."""

    losses: tuple[JudgedLoss, ...] = ()
