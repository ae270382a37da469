"""The declared shape, dtype and kind of feature arrays."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

USUAL_DTYPE = "float32"
"""Of rows where no other type is declared."""


class Kind(StrEnum):
    """What the features of one step are."""

    ONE_HOT = "one-hot"
    """Exactly one of them is 1, all others are 0."""

    MULTI_HOT = "multi-hot"
    """Each is 0 or 1."""

    CONTINUOUS = "continuous"
    """Any finite number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What every row of a data folder is declared to be."""

    steps: int
    features: int
    dtype: str = USUAL_DTYPE
    """As it is stored, by its name in NumPy."""

    kind: Kind | None = None
    """None: not declared; the data decides, and what it decided is said."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.steps, self.features

    @property
    def row_values(self) -> int:
        return self.steps * self.features

    @property
    def row_bytes(self) -> int:
        return self.row_values * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        kind = f", {self.kind}" if self.kind else ""
        return f"[rows, {self.steps}, {self.features}] {self.dtype}{kind}"
