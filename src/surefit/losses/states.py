"""What a causal model says at supervised places: hidden states before its head, or logits."""

from typing import Any, Literal

import torch

from .head import only_at, parts_of
from .places import Places

Way = Literal["chunks", "places", "tokens"]
"""Of what logits are made: of a chunk of places at a time, of all places, or of all tokens."""


def states_at(model: Any, way: Way, given: dict[str, Any], places: Places) -> torch.Tensor:
    """`[places, hidden]` by chunks, where the head is still to come; else `[places, vocabulary]`.

    `given` is what the model is called with.
    """
    parts = parts_of(model)
    if way == "chunks":
        return places.of(parts.backbone(**given)[0])
    if way == "places":
        with only_at(places, parts.head):
            logits: torch.Tensor = model(**given).logits[0]
        return logits
    return places.of(model(**given).logits)


def called_with(
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor | None = None,
    position_ids: torch.Tensor | None = None,
) -> dict[str, Any]:
    """With `position_ids`, rows lie end to end; `use_cache=False` keeps them apart."""
    given: dict[str, Any] = {"input_ids": input_ids, "use_cache": False}
    given |= {} if attention_mask is None else {"attention_mask": attention_mask}
    given |= {} if position_ids is None else {"position_ids": position_ids}
    return given
