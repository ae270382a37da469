"""The loss of the next token, from supervised places only."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from surefit.data.tokens import IGNORED


class NextTokenLoss(nn.Module):
    """A causal model whose forward pass gives its loss on a batch.

    The loss is a sum over supervised places divided by `places`: by the count of all batches that
    share an optimizer step, so that accumulation weighs by tokens and not by batches.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        labels: torch.Tensor,
        places: int,
    ) -> torch.Tensor:
        logits = self.model(
            input_ids=input_ids, attention_mask=attention_mask, use_cache=False
        ).logits
        total = F.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(),
            labels[:, 1:].flatten(),
            ignore_index=IGNORED,
            reduction="sum",
        )
        return total / places


def supervised_places(labels: torch.Tensor) -> int:
    """How many places of these labels the loss sees; the first of a row has no prediction."""
    return int((labels[:, 1:] != IGNORED).sum())
