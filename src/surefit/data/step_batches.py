"""The batches that one process takes of an optimizer step: its share of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from .batches import Batch, PadRows, unsupervised
from .order import share
from .packing import PackRows, packed_share
from .tokens import TokenSet


@dataclass(frozen=True, slots=True)
class StepBatches:
    """Rows of a step as this process's batches, padded, or packed where `pack_tokens` is given.

    Every process has as many. One that has no row left for a batch takes one of the step's without
    its labels.
    """

    rows: TokenSet
    lengths: Sequence[int]
    pad_id: int
    batch_size: int
    rows_per_step: int
    """Over all processes."""

    pack_tokens: int | None = None
    rank: int = 0
    world: int = 1

    def of(self, step: Sequence[Sequence[int]]) -> list[Batch]:
        return [
            self.made(part) if part else unsupervised(self.made(step[0][:1]))
            for part in self.parts(step)
        ]

    def places(self, step: Sequence[Sequence[int]]) -> int:
        """How many places of the step the loss sees, on all processes."""
        return sum(int(self.rows.supervised[row]) for batch in step for row in batch)

    def tokens(self, step: Sequence[Sequence[int]]) -> int:
        """How many tokens the rows of the step have on all processes, without padding."""
        return sum(self.lengths[row] for batch in step for row in batch)

    def made(self, chosen: Sequence[int]) -> Batch:
        """These rows as one batch."""
        collate = PadRows(pad_id=self.pad_id) if self.pack_tokens is None else PackRows()
        return collate(self.rows.features(chosen))

    def longest(self) -> Batch:
        """The largest batch that a step can hold: the longest rows together."""
        by_length = sorted(range(len(self.lengths)), key=lambda row: -self.lengths[row])
        shared = -(-self.rows_per_step // self.world)
        most = min(self.batch_size, shared)
        if self.pack_tokens is not None:
            most = self._rows_that_fill(by_length[:shared], self.pack_tokens)
        return self.made(by_length[:most])

    def shortest(self) -> Batch:
        """One row, quick to try."""
        return self.made([min(range(len(self.lengths)), key=self.lengths.__getitem__)])

    def _rows_that_fill(self, by_length: Sequence[int], most: int) -> int:
        """How many of the longest rows go into one packed sequence, at least one."""
        together = accumulate(self.lengths[row] for row in by_length)
        return max(1, sum(tokens <= most for tokens in together))

    def parts(self, step: Sequence[Sequence[int]]) -> list[list[int]]:
        """The rows of this process's batches; a batch that it only goes along with has none."""
        if self.pack_tokens is not None:
            return packed_share(step, self.lengths, self.rank, self.world, self.pack_tokens)
        return [
            part for batch in step for part in share(batch, self.rank, self.world, self.batch_size)
        ]
