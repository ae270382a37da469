"""Logits of a chunk of places at a time, always in the same memory."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from .teacher import Head

IN_CACHE = 2**18
"""Logits that a CPU works on together once they are there: few enough to stay in its cache."""

ALIGNED = 64
"""Bytes of which a row's beginning is a multiple: with rows of 50,257 numbers end to end MKL needs
1.5 times as long to write them."""

LOWEST = -1e30
"""In place of the logit of a token that a model rules out, so that no infinity meets another."""


class ChunkLogits:
    """What a head makes of hidden states, at least in fp32 and divided by the temperature.

    The logits of a chunk are gone when those of the next are asked for.
    """

    def __init__(
        self, hidden: torch.Tensor, head: Head | None, chunk: int, temperature: float
    ) -> None:
        self.hidden = hidden
        self.head = head
        self.scale = 1 / temperature
        vocabulary = hidden.shape[1] if head is None else head.weight.shape[0]
        dtype = torch.promote_types(hidden.dtype, torch.float32)
        step = ALIGNED // dtype.itemsize
        self.room = torch.empty(
            (min(chunk, len(hidden)), -(-vocabulary // step) * step),
            dtype=dtype,
            device=hidden.device,
        )[:, :vocabulary]

    def of(self, part: slice) -> torch.Tensor:
        """`[places, vocabulary]`, to be used up."""
        hidden = self.hidden[part]
        made = self.room[: len(hidden)]
        if self.head is None:
            return made.copy_(hidden).clamp_(min=LOWEST).mul_(self.scale)
        weight, bias = self.head.weight, self.head.bias
        if hidden.dtype != made.dtype:
            return made.copy_(F.linear(hidden, weight, bias)).mul_(self.scale)
        if bias is None:
            return torch.addmm(made, hidden, weight.T, beta=0, alpha=self.scale, out=made)
        scale = self.scale
        return torch.addmm(bias, hidden, weight.T, beta=scale, alpha=scale, out=made)


def parts(places: int, size: int) -> Iterator[slice]:
    for start in range(0, places, size):
        yield slice(start, min(start + size, places))


def few_rows(logits: torch.Tensor) -> Iterator[slice]:
    """Places that are worked on together: on a GPU, where every call costs, all of them."""
    places, vocabulary = logits.shape
    yield from parts(places, max(1, IN_CACHE // vocabulary) if logits.is_cpu else places)
