"""What the labels of a failing loss really hold, asked of the crashed process."""

from dataclasses import dataclass

import msgspec

from surefit.doctor.observations import Crash, Json, Question
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, spoken
from surefit.evidence.failed_losses import FailedLoss

MOST_LISTED = 6


@dataclass(frozen=True, slots=True)
class LabelValues:
    """Of the labels that are not ignored."""

    elements: int
    total: float
    whole: bool
    """Every one is a whole number."""
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
    """Sum of the places of the greatest entry, over all rows."""
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
        known = zip(self.values, self.counts, strict=True)
        return [(value, count) for value, count in known if not 0 <= value < classes]


def label_values(
    seen: Recording, crash: Crash, loss: FailedLoss, **more: Json
) -> LabelValues | None:
    """`rows`: so many columns make a row; `axis`: that of the classes."""
    about = {"frame": loss.frame, "text": "target", "ignored": loss.ignored, **more}
    said = seen.ask(Question("labels", crash.id, about))
    return msgspec.convert(said, LabelValues, strict=False) if said is not None else None


def values_in_words(labels: LabelValues) -> str:
    """`0, 1, 2 and 3`; of many the range."""
    if labels.different <= MOST_LISTED and labels.all_known:
        return spoken(f"{value:g}" for value in labels.values)
    return f"{labels.values[0]:g} … {labels.values[-1]:g}"


def with_counts(values: list[tuple[float, int]]) -> str:
    """`5 (12 labels) and 7 (1 label)`."""
    shown = [f"{value:g} ({counted(count, 'label')})" for value, count in values[:MOST_LISTED]]
    left = len(values) - len(shown)
    return spoken([*shown, f"{left} more"] if left else shown)
