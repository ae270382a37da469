"""Whether labels mean the same in training and in evaluation, going by what a model predicts."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Confused:
    """Rows of one label that got one prediction."""

    label: int
    prediction: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelIds(Measure):
    """Of one process, in its last evaluation."""

    step: int
    """Optimizer steps before it."""
    training_rows: int
    """Latest ones that were looked at."""
    training_hits: int
    place: Place | None
    """The user's line that calls the model or its loss."""
    pairs: tuple[Confused, ...]
