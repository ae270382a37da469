"""Numbers that were printed or logged after an evaluation, beside what was measured in it."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A wrong formula that gives the printed number."""

    formula: str
    """See `surefit/doctor/scoring/variants.py`."""
    metric: str
    """Which one it is a wrong value of."""
    expected: float
    """What the right formula gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSeen:
    """A number as it was printed once."""

    step: int
    text: str
    value: float
    rights: tuple[str, ...] = ()
    """Metrics that have this value, by `surefit/doctor/scoring/metrics.py`."""
    guesses: tuple[Guess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSeries:
    """The numbers that one line printed at one position."""

    place: Place
    position: int
    label: str
    """The words before the number."""
    times: int
    reports: tuple[ReportSeen, ...] = ()
    """The first ones."""
    measured_at: tuple[Place, ...] = ()
    """Lines at which the loss was computed, or the model called, in these evaluations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Measure):
    """Of one process."""

    evaluations: int = 0
    """That were measured from beginning to end."""
    batches: int = 0
    left_out: int = 0
    """Batches that were too many or too large to be measured."""
    series: tuple[ReportedSeries, ...] = ()
