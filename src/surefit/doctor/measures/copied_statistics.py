"""Running statistics of a model that is evaluated and never trained, beside those of its like that
is."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOfCopy:
    """Of one model, at a call in evaluation mode."""

    kind: str
    """Its class."""
    serial: int
    made_at: Place | None
    site: CallSite | None
    """The user's call."""
    step: int
    norms: int
    """Batch norms with running statistics."""
    initial: int
    """Those whose mean is 0 and whose variance is 1 everywhere, as they are created."""
    learner: str
    """Class of a model with the same batch norms that is trained."""
    batches: int
    """That the learner's statistics have seen, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedStatistics(Measure):
    """Of all such models."""

    copies: tuple[StatisticsOfCopy, ...]
