"""Which rows come when, and which process takes which: a pure function, no state, no messages.

Rows of a step depend on seed, epoch and step alone, never on how many processes there are. So a run
that goes on with another number of processes has the same rows in the same steps.
"""

from collections.abc import Sequence
from math import ceil
from random import Random

WINDOW = 50
"""Batches whose rows are sorted by length together. Wider windows save padding and mix less: at
batch 4, windows of 200 rows waste 2 % of log-normal lengths, where no sorting wastes 41 %."""

Rows = list[int]


def epoch_batches(
    lengths: Sequence[int], batch_size: int, seed: int, epoch: int, *, bucket: bool = True
) -> list[Rows]:
    """Every row once, by its index; one batch is smaller if they do not come out even.

    A batch is what goes forward together over all processes. Its rows are sorted by length where
    they are bucketed.
    """
    random = Random(f"order {seed} {epoch}")
    rows = list(range(len(lengths)))
    random.shuffle(rows)
    if not bucket:
        return _cut(rows, batch_size)
    batches: list[Rows] = []
    for window in _cut(rows, WINDOW * batch_size):
        batches += _cut(sorted(window, key=lengths.__getitem__), batch_size)
    random.shuffle(batches)
    return batches


def share(batch: Sequence[int], rank: int, world: int, most: int) -> list[Rows]:
    """What one of `world` processes takes of a batch, in parts of at most `most` rows.

    Every process has as many parts, since all must take part in what they reduce together; the
    last parts of some are empty. Rows go round in turn, so that all have like lengths.
    """
    parts = _cut(list(batch[rank::world]), most)
    return parts + [[] for _ in range(_parts(len(batch), world, most) - len(parts))]


def padding_waste(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """The share of places in these batches that hold padding."""
    real = sum(lengths[row] for batch in batches for row in batch)
    places = sum(len(batch) * max(lengths[row] for row in batch) for batch in batches)
    return 1 - real / places if places else 0.0


def _parts(rows: int, world: int, most: int) -> int:
    """Parts of the process that has the most rows, the first."""
    return ceil(ceil(rows / world) / most)


def _cut(rows: Rows, size: int) -> list[Rows]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]
