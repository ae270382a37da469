"""Whether a loader that is used for evaluation gives the same rows each time."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderPasses:
    """The first batch of each way through a loader that keeps the order of its rows."""

    place: Place | None
    """Where the loader was created."""
    passes: int
    """First batches that were looked at, after the first."""
    changed: int
    """Of them: the same labels, and other numbers in the inputs."""
    rows: int
    dataset: str
    """Class of the dataset that the rows are from."""
    shared: str
    """What it has in common with a loader of training rows: `dataset`, `transform` or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRows(Measure):
    """Of one process."""

    loaders: tuple[LoaderPasses, ...]
