"""Last columns of a distribution that are one number in every row: what padded logits become."""

from typing import Any

from surefit.observe.inside.training import readable

MOST_ELEMENTS = 65_536
MOST_ROWS = 64
FEWEST = 2
"""Columns; a single one is equal to itself."""


class Tails:
    """The last one that was seen, for each side of a divergence."""

    __slots__ = ("columns", "share")

    def __init__(self) -> None:
        self.columns = 0
        self.share = 0.0
        """Of the mass, on average over the rows looked at."""

    def look(self, side: Any) -> None:
        """At probabilities or their logarithms, on a few rows."""
        if not side.is_floating_point() or side.dim() < 2 or not side.numel():
            return
        rows = side
        while rows.dim() > 2:
            rows = rows[0] if rows.shape[0] == 1 else rows[..., 0, :]
        width = int(rows.shape[-1])
        rows = rows[: max(1, min(MOST_ROWS, MOST_ELEMENTS // width))].float()
        last = rows[:, -1]
        equal = (rows == rows[:, -1:]).all(dim=0).flip(0).long().cumprod(0).sum()
        as_logarithms = rows.min() < 0
        mass = readable.torch().where(as_logarithms, last.exp(), last).mean() * equal
        found = readable.torch().stack([equal.float(), mass])
        readable.read(found, lambda numbers: self.add(width, *numbers))

    def add(self, width: int, columns: float, share: float) -> None:
        there = FEWEST <= columns < width
        self.columns, self.share = (int(columns), float(share)) if there else (0, 0.0)
