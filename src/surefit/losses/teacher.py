"""What a teacher says at supervised places: its hidden states and head, or its likeliest tokens."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Head:
    """A linear head: hidden states of a place to logits of the tokens that both models know.

    Of a head with more rows than the other model's, give the first of them: `weight[:count]`.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None = None

    def first(self, count: int) -> "Head":
        """The same for fewer tokens."""
        if len(self.weight) == count:
            return self
        return Head(self.weight[:count], None if self.bias is None else self.bias[:count])

    def to(self, dtype: torch.dtype) -> "Head":
        return Head(self.weight.to(dtype), None if self.bias is None else self.bias.to(dtype))


@dataclass(frozen=True, slots=True)
class FromHidden:
    """A teacher that has just read the batch."""

    hidden: torch.Tensor
    """`[places, hidden]`; without a head these are logits, `[places, vocabulary]`."""

    head: Head | None


@dataclass(frozen=True, slots=True)
class TopK:
    """What was kept of a teacher: its k likeliest tokens at each place.

    All other tokens are one outcome, the tail, with what is left of the probability.
    """

    ids: torch.Tensor
    """`[places, k]`, no token twice."""

    log_probabilities: torch.Tensor
    """`[places, k]`, at temperature 1."""

    log_normaliser: torch.Tensor
    """`[places]`: log of the sum over the whole vocabulary of p ** (1 / temperature), at the
    temperature of the divergence; 0 where that is 1."""

    target_log_probability: torch.Tensor | None = None
    """`[places]`: of the token that comes next, at temperature 1."""

    def at(self, part: slice) -> "TopK":
        """These places, in numbers that index and are added up exactly enough."""
        target = self.target_log_probability
        return TopK(
            self.ids[part].long(),
            _wide(self.log_probabilities[part]),
            _wide(self.log_normaliser[part]),
            None if target is None else _wide(target[part]),
        )


Teacher = FromHidden | TopK


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
