"""The loss of the next token, from hidden states of supervised places, a chunk at a time."""

from typing import Any

import torch
from torch import nn

from .cross_entropy import cross_entropy, head_cross_entropy
from .head import bare, parts_of, why_inseparable
from .places import find_places, supervised_places
from .states import Way, called_with, states_at

__all__ = ["NextTokenLoss", "Way", "supervised_places"]


class NextTokenLoss(nn.Module):
    """A causal model whose forward pass gives its loss on a batch.

    The loss is a sum over supervised places divided by `places`: by the count of all batches that
    share an optimizer step, so that accumulation weighs by tokens and not by batches.

    In chunks the logits of a batch are never made: the hidden states meet the head's weight here.
    That is the model's own loss only where the model does nothing else to its logits; otherwise the
    head works inside the model, on supervised places only. `train/own_loss.py` settles the way by
    comparing losses.

    Under `fully_shard` the head's weight must be whole in here: shard the layers of the model one
    by one and then this module, so that the head lies in the outermost group. The names that
    accelerate looks for lead it to do so: it is told the layers, and of no head to shard apart.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.way: Way = "chunks" if why_inseparable(model) is None else "tokens"
        self.config: Any = getattr(model, "config", None)
        self._no_split_modules = sorted(getattr(bare(model), "_no_split_modules", None) or ())

    def tie_weights(self) -> None:
        """accelerate calls it after it has put sharded weights in place."""
        bare(self.model).tie_weights()

    def forward(
        self,
        input_ids: torch.Tensor,
        labels: torch.Tensor,
        places: int | torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        given = called_with(input_ids, attention_mask, position_ids)
        found = find_places(labels)
        states = states_at(self.model, self.way, given, found)
        if self.way != "chunks":
            return cross_entropy(states, found.targets) / places
        parts = parts_of(self.model)
        return head_cross_entropy(states, parts.weight, parts.bias, found.targets) / places
