"""What a Trainer does of what it was asked for: which columns it drops, how long it trains."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedColumns:
    """Of one dataset."""

    trainer: str
    model: str
    columns: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerRequests(Measure):
    """Of one process."""

    datasets: tuple[DroppedColumns, ...] = ()
    arguments: str = ""
    """Class of the settings."""
    arguments_at: Place | None = None
    overrides: tuple[tuple[str, str], ...] = ()
    """Settings, each with another that it overrides by the class's documentation, where it is
    set."""
    planned_epochs: float | None = None
    """Of a run that has ended."""
    epochs: float | None = None
    most_steps: int = 0
    steps: int = 0
