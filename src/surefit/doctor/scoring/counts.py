"""Counts and sums that metrics follow from; those of several batches add up."""

from dataclasses import dataclass, field
from functools import reduce
from operator import add

TOPS = (2, 3, 5, 10)
MOST_SCORES = 20_000

Table = tuple[tuple[int, int, int], ...]
"""For each class: rows predicted to be it, rows that are, and rows that are both."""


@dataclass(slots=True, kw_only=True)
class ScoreCounts:
    """Of one call of a model or a loss in an evaluation, or of several."""

    batches: int = 1
    rows: int = 0
    """Positions with a target, ignored ones counted."""
    labels: int = 0
    """Those that count."""
    right: float = 0
    items: int = 0
    """Rows of the batch: sequences, where each has several labels."""
    exact: int = 0
    """Of these, the ones with every label right."""
    table: Table = ()
    among: tuple[int, ...] = ()
    """Labels that are among the first so many classes, for each of `TOPS`."""
    reciprocal: float = 0.0
    """Sum of one over the rank of the label."""
    squared: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    """Of numbers: errors squared, absolute, and divided by the target."""
    wanted: float = 0.0
    wanted_squared: float = 0.0
    """Of numbers: the targets, and their squares."""
    loss: float = 0.0
    """Sum over labels."""
    loss_of_rows: float = 0.0
    """The same where each row weighs the same."""
    means: float = 0.0
    """Sum of what a loss gave for each batch."""
    scores: list[tuple[float, bool]] = field(default_factory=list)
    """Of two classes: how much the second is favoured, and whether it is right."""

    def __add__(self, other: "ScoreCounts") -> "ScoreCounts":
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        tables = zip(self.table, other.table, strict=False)
        alike = len(self.table) == len(other.table)
        pairs = zip(self.among, other.among, strict=False)
        return ScoreCounts(
            table=tuple((a + d, b + e, c + f) for (a, b, c), (d, e, f) in tables) if alike else (),
            among=tuple(first + second for first, second in pairs),
            scores=self.scores + other.scores if min(len(self.scores), len(other.scores)) else [],
            **sums,
        )


SUMS = (
    ("batches", "rows", "labels", "right", "items", "exact", "reciprocal")
    + ("squared", "absolute", "relative", "wanted", "wanted_squared")
    + ("loss", "loss_of_rows", "means")
)


def together(batches: list[ScoreCounts]) -> ScoreCounts:
    """Of at least one."""
    return reduce(add, batches)
