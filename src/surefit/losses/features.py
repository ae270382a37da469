"""The loss of masked or of next steps of feature sequences, from their hidden states alone."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from surefit.data.features.layout import Kind


@dataclass(frozen=True, slots=True)
class Objective:
    """What a model must give back of each row."""

    kind: Kind
    causal: bool
    """The next step from all before it; otherwise masked steps from all others."""

    def __str__(self) -> str:
        what = "next steps" if self.causal else "masked steps"
        how = {
            Kind.ONE_HOT: "cross entropy in nats, a mean over",
            Kind.MULTI_HOT: "binary cross entropy in nats, a mean over features of",
            Kind.CONTINUOUS: "squared error, a mean over features of",
        }[self.kind]
        return f"{how} {what}"


class FeatureLoss(nn.Module):
    """A feature model whose forward pass gives its loss on a batch.

    The loss is a sum over supervised steps divided by `places`: by their count in all batches, of
    all processes, that share an optimizer step.

    Under `fully_shard` the head must be whole in here, as in `NextTokenLoss`: the names that
    accelerate looks for lead it to shard the encoder's layers one by one, and then this module.
    """

    def __init__(self, model: Any, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self.config: Any = getattr(model, "config", None)
        encoder = getattr(model, "encoder", None)
        self._no_split_modules = sorted(getattr(encoder, "_no_split_modules", None) or ())

    def tie_weights(self) -> None:
        """accelerate calls it after it has put sharded weights in place."""
        self.model.tie_weights()

    def forward(
        self,
        inputs_embeds: torch.Tensor,
        places: int,
        attention_mask: torch.Tensor | None = None,
        masked: torch.Tensor | None = None,
    ) -> torch.Tensor:
        said, targets = self.said_and_targets(inputs_embeds, attention_mask, masked)
        return step_losses(said, targets, self.objective.kind).sum() / places

    def said_and_targets(
        self,
        inputs_embeds: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        masked: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the supervised steps: what the head says, and what stands there."""
        hidden = self.model(inputs_embeds, attention_mask, masked)
        if self.objective.causal:
            supervised = next_steps(inputs_embeds, attention_mask)
            hidden, targets = hidden[:, :-1][supervised], inputs_embeds[:, 1:][supervised]
        else:
            assert masked is not None
            hidden, targets = hidden[masked], inputs_embeds[masked]
        return self.model.head(hidden), targets


def next_steps(given: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
    """`[rows, steps - 1]`: whether the step after this one is real."""
    if attention_mask is None:
        return torch.ones(given.shape[0], given.shape[1] - 1, dtype=torch.bool, device=given.device)
    return attention_mask[:, 1:].bool()


def step_hits(said: torch.Tensor, targets: torch.Tensor, kind: Kind) -> torch.Tensor | None:
    """How right each step is, from 0 to 1: the likeliest feature of one-hot rows, the share of
    features of multi-hot ones. None of numbers, which are near or far and never right."""
    if kind is Kind.ONE_HOT:
        ids = targets.argmax(dim=-1) if targets.is_floating_point() else targets
        return (said.argmax(dim=-1) == ids).double()
    if kind is Kind.MULTI_HOT:
        return ((said > 0) == (targets > 0.5)).double().mean(dim=-1)
    return None


def step_losses(said: torch.Tensor, targets: torch.Tensor, kind: Kind) -> torch.Tensor:
    """Of each step, in fp32; for all but one-hot rows a mean over its features."""
    said = said.float()
    if kind is Kind.ONE_HOT:
        ids = targets.argmax(dim=-1) if targets.is_floating_point() else targets
        return F.cross_entropy(said, ids, reduction="none")
    if kind is Kind.MULTI_HOT:
        each = F.binary_cross_entropy_with_logits(said, targets.float(), reduction="none")
    else:
        each = (said - targets.float()) ** 2
    return each.mean(dim=-1)
