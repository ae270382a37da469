"""The model that a student learns from: frozen, and asked for supervised places only."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from surefit.data.batches import Batch
from surefit.doctor.findings import Finding, Fix, Place
from surefit.errors import BadInput
from surefit.losses.head import parts_of, why_inseparable
from surefit.losses.places import Places
from surefit.losses.states import Way, called_with, states_at
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
            self.way: Way = _way_to(model)
            """Whether `hidden` gives hidden states, or logits."""
        self._parts.backbone.register_forward_hook(self._count)

    @property
    def head(self) -> Head | None:
        """For what `hidden` gives; None where that is logits already."""
        if self.way != "chunks":
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
        with torch.no_grad():
            return self.read_with_graph(batch, places, tokens)

    def read_with_graph(self, batch: Batch, places: Places, tokens: int) -> FromHidden:
        """The same, where weights of the model were told to take gradients."""
        hidden, head = self._states(batch, places), self.head
        if head is None:
            return FromHidden(hidden[:, :tokens], None)
        return FromHidden(hidden, head.first(tokens))

    @torch.no_grad()
    def hidden(self, batch: Batch, places: Places) -> torch.Tensor:
        """`[places, width]` at the supervised places of a batch: hidden states, or logits where
        there is no `head`."""
        return self._states(batch, places)

    def _states(self, batch: Batch, places: Places) -> torch.Tensor:
        if self.model.training:
            self.model.eval()
        given = called_with(
            batch["input_ids"], batch.get("attention_mask"), batch.get("position_ids")
        )
        with self._watch():
            return states_at(self.model, self.way, given, places)

    def _watch(self) -> AbstractContextManager[object]:
        return OnlyPresentWeights() if self._watched else nullcontext()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it: a resumed run counts the passes of the whole run."""
        return {"forwards": self.forwards}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forwards = state["forwards"]

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
def _way_to(model: Any) -> Way:
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
        return "chunks"
    index = torch.arange(1, PROBE, 2, device=device)
    places = Places(index, index)
    if parts.head is not None:
        gathered = states_at(model, "places", given, places)
        if gathered.shape == places.of(own).shape and apart([places.of(own)], [gathered]) <= most:
            return "places"
    return "tokens"


def _fails_offloaded(
    source: ModelSource, model: Any, offload: Offload, error: Exception
) -> Finding:
    return NOT_FROM_DISK.finding(
        Place(source.name),
        f"The forward pass of `{source.name}` fails while its weights are offloaded to "
        f"{'disk' if offload == 'disk' else 'the CPU'}.",
        why=f"A layer of `{type(model).__name__}` uses the weights of another layer without "
        "calling it, so they are not loaded.",
        fixes=[Fix("Keep the teacher on its device:  --offload-teacher none")],
        python_said=f"{type(error).__name__}: {str(error).strip()}".splitlines()[0],
    )
