"""What a fork tried with a collate function: the same row, beside other rows and elsewhere."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedIndex:
    """A tensor of row numbers, joined as it is though what it points into was joined, too."""

    index: str
    """Its key in the batch: `1`, `edge_index`."""
    rows: str
    """The key of the tensor whose rows it numbers."""
    axis: int
    """Along which it was joined."""
    mends: bool
    """With the number of rows before it added, the row has the same output everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollatedRows(Measure):
    """Of one collate function and one model."""

    model: str
    place: Place | None
    """The user's line that called the model."""
    collate: str
    """The name of the function."""
    defined_at: Place | None
    step: int
    why_not: str = ""
    """Nothing was tried."""
    samples: int = 0
    """Different rows that were put together."""
    moved: float = 0.0
    """Largest change of a row's output where the row lies elsewhere in its batch, over the largest
    value."""
    company: float = 0.0
    """The same where the rows beside it are others."""
    output: tuple[int, ...] = ()
    index: JoinedIndex | None = None
    altered: str = ""
    """The key of a tensor in which the row's own values change with the rows beside it."""
    flattened: str = ""
    """The key of an input of the model in which the rows of all samples lie end to end."""
