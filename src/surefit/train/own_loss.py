"""Whether a lean loss is the model's own: both on a few tokens, before training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from surefit.data.batches import Batch
from surefit.data.tokens import IGNORED
from surefit.losses.head import bare, parts_of, why_inseparable
from surefit.losses.next_token import NextTokenLoss, Way
from surefit.losses.places import supervised_places

from .undisturbed import undisturbed

TOKENS = 8
"""So few that the model's own logits of them are small beside those of one chunk."""

TENSORS = 8
LARGEST = 4_000_000
"""Weights of a tensor whose gradient is compared; the embedding's alone can be half a gigabyte."""

CHANGES_TO_LOGITS = (
    "final_logit_softcapping",
    "logits_soft_cap",
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
)
"""Names in a config: a cap of 30 hardly shows in a model with small logits, until they grow."""


def tolerance(model: nn.Module) -> float:
    """Largest relative difference of losses, or of gradients, that are the same.

    In fp32 sums in another order differ by 1e-6. Half precisions round every hidden state, and a
    gradient collects the roundings of all layers; weights of 4 or 8 bits compute in half precision.
    """
    kinds = {parameter.dtype for parameter in model.parameters()}
    if torch.bfloat16 in kinds or not all(kind.is_floating_point for kind in kinds):
        return 5e-2
    return 1e-2 if torch.float16 in kinds else 1e-4


@dataclass(frozen=True, slots=True)
class Comparison:
    """The model's own loss on a few tokens, and that of a leaner way."""

    tokens: int
    own: float
    lean: float
    apart: float
    """How far the gradients of a few trained tensors differ."""

    def agrees(self, most: float) -> bool:
        """Of weights that are no numbers nothing can be said here; preflight refuses them."""
        return not (abs(self.lean - self.own) > most * abs(self.own) or self.apart > most)

    def __str__(self) -> str:
        return (
            f"on {self.tokens} tokens the model's own loss is {self.own:.6f} and the chunked loss "
            f"{self.lean:.6f}; gradients differ by {self.apart:.2%}"
        )


def settle_loss(loss_of: NextTokenLoss, batch: Batch) -> str | None:
    """Sets the leanest way to the model's own loss, and says why where it is not by chunks.

    To be called before `accelerator.prepare`: the weights must be whole, in their own precision.
    """
    why = why_inseparable(loss_of.model) or _why_not_by_chunks(loss_of, batch)
    if why is None:
        loss_of.way = "chunks"
        return None
    loss_of.way = "places" if _may_gather(loss_of, batch) else "tokens"
    which = "supervised" if loss_of.way == "places" else "all"
    return (
        f"The loss is computed from the model's own logits of {which} tokens, because {why}. "
        "This takes more memory and time than the chunked loss."
    )


def _why_not_by_chunks(loss_of: NextTokenLoss, batch: Batch) -> str | None:
    found = compare(loss_of, "chunks", batch)
    named = changes_to_logits(loss_of.model)
    if named:
        return f"its config has {', '.join(named)}; {found}"
    return None if found.agrees(tolerance(loss_of)) else str(found)


def _may_gather(loss_of: NextTokenLoss, batch: Batch) -> bool:
    has_head = parts_of(loss_of.model).head is not None
    return has_head and compare(loss_of, "places", batch).agrees(tolerance(loss_of))


def changes_to_logits(model: Any) -> list[str]:
    """What the config says is done to logits behind the head, as names and values."""
    config = bare(model).config.get_text_config()
    found = [(name, getattr(config, name, None)) for name in CHANGES_TO_LOGITS]
    return [f"`{name}` {value}" for name, value in found if value not in (None, 0, 1)]


def compare(loss_of: NextTokenLoss, way: Way, batch: Batch) -> Comparison:
    """With the model's own, made of all tokens; leaves everything but `loss_of.way` as it was."""
    ids = batch["input_ids"].flatten()[None, :TOKENS].to(next(loss_of.parameters()).device)
    with undisturbed(loss_of):
        loss_of.way = "tokens"
        own, gradients = _loss_and_gradients(loss_of, ids)
        loss_of.way = way
        lean, lean_gradients = _loss_and_gradients(loss_of, ids)
    return Comparison(ids.numel(), own, lean, apart(gradients, lean_gradients))


def _loss_and_gradients(
    loss_of: NextTokenLoss, ids: torch.Tensor
) -> tuple[float, list[torch.Tensor]]:
    labels = ids.clone()
    labels[:, :2] = IGNORED  # so that not all places are supervised
    loss = loss_of(input_ids=ids, labels=labels, places=max(1, supervised_places(labels)))
    chosen = _few(loss_of) if loss.requires_grad else []
    gradients = torch.autograd.grad(loss, chosen, materialize_grads=True) if chosen else ()
    return loss.item(), list(gradients)


def _few(loss_of: NextTokenLoss) -> list[nn.Parameter]:
    """Trained tensors from the first layer to the last."""
    trained = [p for p in loss_of.parameters() if p.requires_grad and p.numel() <= LARGEST]
    return trained[:: max(1, len(trained) // TENSORS)]


def apart(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> float:
    """The length of the difference of all together, as a share of the length of the first.

    Not of each: what is 0 but for rounding, as the gradient of a key's bias, is noise.
    """
    length = math.hypot(*(one.float().norm().item() for one in some))
    pairs = zip(some, others, strict=True)
    difference = math.hypot(*((one.float() - two.float()).norm().item() for one, two in pairs))
    return difference / length if length > 0 else float(difference > 0)
