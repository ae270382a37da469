"""Sums over the rows of batches for each feature or channel, which can be added up."""

import math
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.measures.phase_inputs import FeatureFigures
from surefit.observe.inside.training import readable

MOST_ROWS = 32
"""Of a batch."""
MOST_FEATURES = 64
MOST_ELEMENTS = 1 << 14
CHANNELS = 4
"""Pictures whose channels come last have at most so many."""


@dataclass(frozen=True, slots=True)
class FeatureView:
    """A part of a batch as rows, positions and features."""

    values: Any
    axis: str
    chosen: tuple[int, ...]
    """Numbers of the features among all."""


def few_rows(tensor: Any) -> Any:
    """Spread over the batch, which may be sorted."""
    return tensor[:: -(-int(tensor.shape[0]) // MOST_ROWS)]


def features_of(tensor: Any) -> FeatureView:
    """To be called while looking. Features are the last axis; of pictures, the channels."""
    rows = few_rows(tensor.detach())
    if rows.dim() == 1:
        rows = rows[:, None]
    if rows.dim() > 3 and not rows.shape[-1] <= CHANNELS < rows.shape[1]:
        rows = rows.movedim(1, -1)
    count, width = int(rows.shape[0]), int(rows.shape[-1])
    step = -(-width // MOST_FEATURES)
    chosen = tuple(range(0, width, step))
    values = rows[..., ::step].reshape(count, -1, len(chosen))
    room = max(1, MOST_ELEMENTS // (count * len(chosen)))
    values = values[:, :: -(-int(values.shape[1]) // room)]
    return FeatureView(values, "channel" if tensor.dim() > 3 else "feature", chosen)


def sums_of(view: FeatureView) -> Any:
    """To be called while looking: a small tensor on the device of the batch."""
    values = view.values.double()
    means = values.mean(1)
    return readable.torch().stack(
        (
            means.sum(0),
            means.square().sum(0),
            values.square().mean(1).sum(0),
            values.amin((0, 1)),
            values.amax((0, 1)),
            (values == 0).double().mean(1).sum(0),
            (values < 0).double().mean(1).sum(0),
        )
    )


@dataclass(slots=True)
class FeatureSums:
    """Over all batches looked at."""

    rows: int = 0
    sums: list[list[float]] = field(default_factory=list)

    def add(self, rows: int, sums: list[list[float]]) -> None:
        """Batches with another number of features, or numbers that are not finite, are left out."""
        if not all(math.isfinite(number) for line in sums for number in line):
            return
        if self.rows and len(sums[0]) != len(self.sums[0]):
            return
        known = self.sums or [[0.0] * len(line) for line in sums]
        if not self.rows:
            known[3], known[4] = sums[3], sums[4]
        ways = [_added, _added, _added, _least, _greatest, _added, _added]
        self.sums = [way(old, new) for way, old, new in zip(ways, known, sums, strict=True)]
        self.rows += rows

    def figures(self) -> tuple[FeatureFigures, ...]:
        return tuple(_figures(self.rows, *numbers) for numbers in zip(*self.sums, strict=True))


def _figures(
    rows: int,
    total: float,
    squares_of_rows: float,
    squares: float,
    least: float,
    greatest: float,
    zeros: float,
    negative: float,
) -> FeatureFigures:
    mean = total / rows
    return FeatureFigures(
        mean=mean,
        spread=math.sqrt(max(squares / rows - mean * mean, 0.0)) if least < greatest else 0.0,
        row_spread=math.sqrt(max(squares_of_rows / rows - mean * mean, 0.0)),
        least=least,
        greatest=greatest,
        zeros=zeros / rows,
        negative=negative / rows,
    )


def _added(old: list[float], new: list[float]) -> list[float]:
    return [first + second for first, second in zip(old, new, strict=True)]


def _least(old: list[float], new: list[float]) -> list[float]:
    return [min(pair) for pair in zip(old, new, strict=True)]


def _greatest(old: list[float], new: list[float]) -> list[float]:
    return [max(pair) for pair in zip(old, new, strict=True)]
