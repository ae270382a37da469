"""Supervised places: where they lie in a batch, what stands there, how many go at once."""

from dataclasses import dataclass

import torch

from surefit.data.tokens import IGNORED

CHUNK = 256
"""Places whose logits exist at the same time.

Of the sizes measured (`benchmarks/loss_head.py`) the smallest that is no slower than all logits at
once where every token is supervised: 128 costs up to 14 % more, 512 gains at most 5 %.
"""


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a `[batch, tokens]` grid that the loss sees, row by row."""

    index: torch.Tensor
    """`[places]`, into the grid laid flat."""

    targets: torch.Tensor
    """`[places]`: the token that comes next at each."""

    def __len__(self) -> int:
        return self.index.shape[0]

    def of(self, grid: torch.Tensor) -> torch.Tensor:
        """What a `[batch, tokens, ...]` tensor holds at these places: `[places, ...]`."""
        return grid.flatten(0, 1).index_select(0, self.index)


def find_places(labels: torch.Tensor) -> Places:
    """Labels lie on the tokens themselves: what is said at a place is the label one further on."""
    ahead = torch.full_like(labels, IGNORED)
    ahead[:, :-1] = labels[:, 1:]
    ahead = ahead.flatten()
    index = (ahead != IGNORED).nonzero().squeeze(1)
    return Places(index, ahead.index_select(0, index))


def supervised_places(labels: torch.Tensor) -> int:
    """How many places of these labels the loss sees; the first of a row has no prediction."""
    return int((labels[:, 1:] != IGNORED).sum())
