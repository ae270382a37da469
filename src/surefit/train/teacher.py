"""The model that a student learns from: frozen, and asked for supervised places only."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import torch

from surefit.data.batches import Batch
from surefit.doctor.findings import Finding, Fix, Place
from surefit.errors import BadInput
from surefit.losses.head import only_at, parts_of, why_inseparable
from surefit.losses.places import Places
from surefit.losses.teacher import FromHidden, Head
from surefit.models.load import ModelSource
from surefit.models.offload import (
    NOT_FROM_DISK,
    AbsentWeight,
    Offload,
    OnlyPresentWeights,
    load_offloaded,
    some_are_absent,
    where_weights_lie,
)

from .own_loss import apart, changes_to_logits, tolerance

PROBE = 8
"""Tokens on which the head is compared with the model's own logits."""

Given = Literal["hidden states", "logits of places", "logits of tokens"]
"""What a pass is asked for."""


class Teacher:
    """A causal model that never learns: in evaluation mode, without gradients, a module apart."""

    def __init__(self, model: Any, where: str = "") -> None:
        """`where` its weights lie, in words."""
        self.model: Any = model.eval().requires_grad_(False)
        self.where = where
        self.forwards = 0
        """Passes that were made, counted where they are: in the backbone."""
        self._parts = parts_of(model)
        self._watched = some_are_absent(model)
        with self._watch():
            self._given: Given = _what_to_ask_for(model)
        self._parts.backbone.register_forward_hook(self._count)

    @property
    def head(self) -> Head | None:
        """For what `hidden` gives; None where that is logits already."""
        if self._given != "hidden states":
            return None
        return Head(self._parts.weight, self._parts.bias)

    @property
    def rows(self) -> int:
        """Of the head: tokens and padding."""
        weight = getattr(self._parts.head, "weight", None)
        return int(
            self.model.config.get_text_config().vocab_size if weight is None else len(weight)
        )

    def read(self, batch: Batch, places: Places, tokens: int) -> FromHidden:
        """What it says at these places of the first `tokens` of its vocabulary."""
        hidden, head = self.hidden(batch, places), self.head
        if head is None:
            return FromHidden(hidden[:, :tokens], None)
        bias = None if head.bias is None else head.bias[:tokens]
        return FromHidden(hidden, Head(head.weight[:tokens], bias))

    @torch.no_grad()
    def hidden(self, batch: Batch, places: Places) -> torch.Tensor:
        """`[places, width]` at the supervised places of a batch: hidden states, or logits where
        there is no `head`."""
        if self.model.training:
            self.model.eval()
        names = ("input_ids", "attention_mask", "position_ids")
        given = {name: batch[name] for name in names if name in batch} | {"use_cache": False}
        with self._watch():
            if self._given == "hidden states":
                return places.of(self._parts.backbone(**given)[0])
            return _logits(self.model, given, places, self._given)

    def _watch(self) -> AbstractContextManager[object]:
        return OnlyPresentWeights() if self._watched else nullcontext()

    def _count(self, *_call: object) -> None:
        self.forwards += 1


def load_teacher(
    source: ModelSource, dtype: torch.dtype, device: torch.device, offload: Offload, folder: Path
) -> Teacher:
    """Its passes are made on `device`. Offloaded to `disk` it is read from its own files, and
    writes what it must to `folder`, which must outlast it."""
    model = load_offloaded(source, dtype, device, offload, folder)
    try:
        return Teacher(model, where_weights_lie(offload, device))
    except AbsentWeight as error:
        raise BadInput(_fails_offloaded(source, model, offload, error)) from error


@torch.no_grad()
def _what_to_ask_for(model: Any) -> Given:
    """The least that gives the model's own logits, compared on a few tokens."""
    parts = parts_of(model)
    rows = model.get_input_embeddings().num_embeddings
    device = getattr(parts.head, "weight", next(model.parameters())).device
    given = {"input_ids": torch.arange(PROBE, device=device)[None] % rows, "use_cache": False}
    kept: list[torch.Tensor] = []
    hook = parts.backbone.register_forward_hook(lambda *call: kept.append(call[2][0]))
    try:
        own = model(**given).logits
    finally:
        hook.remove()
    most = tolerance(model)
    plain = why_inseparable(model) is None and not changes_to_logits(model)
    if plain and apart([own], [parts.head(kept[0])]) <= most:
        return "hidden states"
    index = torch.arange(1, PROBE, 2, device=device)
    places = Places(index, index)
    if parts.head is not None:
        gathered = _logits(model, given, places, "logits of places")
        if gathered.shape == places.of(own).shape and apart([places.of(own)], [gathered]) <= most:
            return "logits of places"
    return "logits of tokens"


def _logits(model: Any, given: dict[str, Any], places: Places, asked: Given) -> torch.Tensor:
    if asked == "logits of tokens":
        return places.of(model(**given).logits)
    with only_at(places, parts_of(model).head):
        logits: torch.Tensor = model(**given).logits[0]
    return logits


def _fails_offloaded(
    source: ModelSource, model: Any, offload: Offload, error: Exception
) -> Finding:
    return NOT_FROM_DISK.finding(
        Place(source.name),
        f"`{source.name}` cannot make a pass while its weights lie "
        f"{'in files' if offload == 'disk' else 'in main memory'}.",
        why=f"A layer of `{type(model).__name__}` uses weights of another without calling it, so "
        "that nothing brings them.",
        fixes=[Fix("Keep the teacher on its device:  --offload-teacher none")],
        python_said=f"{type(error).__name__}: {str(error).strip()}".splitlines()[0],
    )
