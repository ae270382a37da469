"""Whether what a dataset stores is changed by reading it."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """Rows of one attribute of a dataset that were changed while they were fetched."""

    dataset: str
    """Its class."""
    attribute: str
    """`x`, or `samples` where that is a list of arrays."""
    kind: str
    """`ndarray` or `Tensor`."""
    place: Place | None
    """Of the user's `__getitem__`; where there is none, of the dataset's creation."""
    own: bool
    """The class is the user's."""
    rows: int
    """Rows that were watched: the first that a fetch changed."""
    again: int
    """Of them, rows that a later fetch changed again."""
    times: int
    """Fetches that changed them, the most of any row."""
    returned: bool
    """What was fetched has the changed numbers."""
    epochs: int
    """Ways through the loader until then."""
    step: int
    """Optimizer steps until then."""
    mean_before: float
    std_before: float
    mean_after: float
    std_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRows(Measure):
    """Of one process."""

    steps: int
    rows: int
    """Stored rows that were looked at before and after a fetch."""
    changes: tuple[StoredChange, ...]
