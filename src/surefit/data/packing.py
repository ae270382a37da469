"""Several rows laid end to end in one sequence, blind to each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .batches import Batch, Numbers, columns
from .tokens import IGNORED


def pack(rows: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Every row once, in sequences of at most `most` tokens; a longer row is alone in its own.

    The longest rows come first, each into the first sequence that has room for it.
    """
    packed: list[list[int]] = []
    room: list[int] = []
    for row in sorted(rows, key=lambda row: -lengths[row]):
        fits = next((at for at, left in enumerate(room) if lengths[row] <= left), None)
        if fits is None:
            packed.append([])
            room.append(most)
            fits = -1
        packed[fits].append(row)
        room[fits] -= lengths[row]
    return packed


def packed_share(
    batches: Sequence[Sequence[int]], lengths: Sequence[int], rank: int, world: int, most: int
) -> list[list[int]]:
    """What one of `world` processes takes of the batches of a step, packed.

    Every process has as many sequences as the one with the most; the last of some are empty.
    """
    shares = [
        pack([row for batch in batches for row in batch[one::world]], lengths, most)
        for one in range(world)
    ]
    most_sequences = max(len(packed) for packed in shares)
    return shares[rank] + [[] for _ in range(most_sequences - len(shares[rank]))]


class PackRows:
    """Rows as one sequence: positions begin at 0 in each, and no row's first token is predicted.

    There is no attention mask: transformers tells rows apart by their positions, and a mask of
    ones would let them see each other.
    """

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        ids = columns(rows, "input_ids")
        labels = columns(rows, "labels", ids)
        return {
            "input_ids": _row(ids),
            "labels": _row([_first_ignored(one) for one in labels]),
            "position_ids": _row([np.arange(len(one)) for one in ids]),
        }


def _first_ignored(labels: Numbers) -> Numbers:
    """A row's first token would be predicted from the end of the row before it."""
    return np.concatenate([[IGNORED], labels[1:]])


def _row(parts: Sequence[Numbers]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(parts).astype(np.int64, copy=False)[None])
