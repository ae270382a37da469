"""The two parts of a causal model that a lean loss uses apart: the backbone and the head."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .places import Places


@dataclass(frozen=True, slots=True)
class Parts:
    """A causal model as two functions: tokens to hidden states, hidden states to logits."""

    backbone: Any
    head: Any

    @property
    def weight(self) -> torch.Tensor:
        weight: torch.Tensor = self.head.weight
        return weight

    @property
    def bias(self) -> torch.Tensor | None:
        return getattr(self.head, "bias", None)


def bare(model: Any) -> Any:
    """The causal model inside adapters; they stay in its layers."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def parts_of(model: Any) -> Parts:
    inside = bare(model)
    return Parts(
        getattr(inside, "base_model", inside),
        getattr(inside, "get_output_embeddings", lambda: None)(),
    )


@contextmanager
def only_at(places: Places, head: nn.Module) -> Iterator[None]:
    """While this lasts, the head is given `[1, places, hidden]` of `[batch, tokens, hidden]`."""

    def gather(_head: nn.Module, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return places.of(given[0])[None], *given[1:]

    hook = head.register_forward_pre_hook(gather)
    try:
        yield
    finally:
        hook.remove()


def why_inseparable(model: Any) -> str | None:
    """What forbids using this model's head by its weight alone, in words; None if nothing does."""
    inside, parts = bare(model), parts_of(model)
    kind = type(parts.head).__name__
    if parts.head is None or parts.backbone is inside:
        return f"`{type(inside).__name__}` has no head apart from its layers"
    if hasattr(parts.head, "base_layer") or hasattr(parts.head, "original_module"):
        return f"its head has an adapter (`{kind}`)"
    if type(parts.head) is not nn.Linear or not parts.weight.is_floating_point():
        return f"its head is not a plain linear layer (`{kind}`)"
    return None
