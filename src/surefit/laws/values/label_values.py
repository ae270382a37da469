"""What labels hold, as the crashed process tells."""

from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.words import counted, spoken

MOST_LISTED = 6


@dataclass(frozen=True, slots=True)
class LabelValues:
    """Of the labels that are not ignored."""

    probe: ClassVar[str] = "labels"

    elements: int
    total: float
    whole: bool
    """Every one is an integer, whatever its dtype."""
    different: int
    values: tuple[float, ...]
    """Lowest first, each once; of very many the first."""
    counts: tuple[int, ...]
    rows: int = 0
    indicator: bool = False
    """Nothing but zeros and ones, along the axis of classes."""
    fewest_ones: int = 0
    most_ones: int = 0
    single: int = 0
    """Rows with exactly one entry that is not zero."""
    places: float = 0.0
    """Sum of the indices of the greatest entry, over all rows."""
    stored: int = 0
    """Rows of zeros and ones, one column per class, that a dataset in memory holds in all."""
    stored_single: int = 0

    @property
    def one_hot(self) -> bool:
        every = self.single == self.rows and self.stored_single == self.stored
        return self.indicator and self.rows > 0 and every

    @property
    def all_known(self) -> bool:
        return self.different == len(self.values)

    def outside(self, classes: int) -> list[tuple[float, int]]:
        """Values that are no class, each with how many labels have it."""
        pairs = zip(self.values, self.counts, strict=True)
        return [(value, count) for value, count in pairs if not 0 <= value < classes]

    def are_classes(self, classes: int) -> bool:
        return self.whole and self.all_known and not self.outside(classes)

    @property
    def words(self) -> str:
        """`0, 1, 2 and 3`; of many the range; nothing where none is known."""
        if not self.values:
            return ""
        if self.different <= MOST_LISTED and self.all_known:
            return spoken(f"{value:g}" for value in self.values)
        return f"{self.values[0]:g} … {self.values[-1]:g}"


def with_counts(values: list[tuple[float, int]]) -> str:
    """`5 (12 labels) and 7 (1 label)`."""
    shown = [f"{value:g} ({counted(count, 'label')})" for value, count in values[:MOST_LISTED]]
    left = len(values) - len(shown)
    return spoken([*shown, f"{left} more"] if left else shown)
