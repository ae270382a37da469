"""A student whose forward pass gives its loss on a batch, beside what its teacher says of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn

from .distillation import Distilled, head_distillation
from .divergence import Divergence
from .head import bare, parts_of, why_inseparable
from .places import Places, find_places
from .states import Way, called_with, states_at
from .teacher import FromHidden, Head, TopK

Batch = dict[str, torch.Tensor]
Voice: TypeAlias = Callable[[Batch, Places], FromHidden | TopK]
"""What a teacher says of a batch at these places."""


@dataclass(slots=True)
class Sums:
    """Cross entropy and divergence over supervised places, as they come in."""

    cross_entropy: float = 0.0
    divergence: float = 0.0

    def take(self) -> "Sums":
        """What has come in; it begins anew."""
        taken = Sums(self.cross_entropy, self.divergence)
        self.cross_entropy = self.divergence = 0.0
        return taken


class StudentLoss(nn.Module):
    """The loss is a sum over supervised places divided by `places`: by the count of all batches
    that share an optimizer step, so that accumulation weighs by tokens and not by batches.

    The teacher is no part of this module: it is neither trained, nor shared out, nor saved with it.
    """

    def __init__(
        self, model: Any, voice: Voice, divergence: Divergence, alpha: float, tokens: int
    ) -> None:
        super().__init__()
        self.model = model
        self.divergence = divergence
        self.alpha = alpha
        self.tokens = tokens
        """Rows of the head that are tokens; those behind them only fill it up."""

        self.way: Way = "chunks" if why_inseparable(model) is None else "tokens"
        self.sums = Sums()
        self.config: Any = getattr(model, "config", None)
        self._no_split_modules = sorted(getattr(bare(model), "_no_split_modules", None) or ())
        self._voice = [voice]

    @property
    def voice(self) -> Voice:
        return self._voice[0]

    @voice.setter
    def voice(self, voice: Voice) -> None:
        self._voice[0] = voice

    def tie_weights(self) -> None:
        """accelerate calls it after it has put sharded weights in place."""
        bare(self.model).tie_weights()

    @property
    def head(self) -> Head | None:
        """None where the model makes its logits itself."""
        if self.way != "chunks":
            return None
        parts = parts_of(self.model)
        return Head(parts.weight, parts.bias).first(self.tokens)

    def states(self, batch: Batch, places: Places) -> torch.Tensor:
        """Hidden states at these places, or, where there is no head apart, logits of tokens."""
        given = called_with(batch["input_ids"], batch.get("attention_mask"))
        states = states_at(self.model, self.way, given, places)
        return states if self.way == "chunks" else states[:, : self.tokens]

    def forward(
        self,
        input_ids: torch.Tensor,
        labels: torch.Tensor,
        places: int | torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        rows: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`rows` are the numbers of these rows, for a teacher that knows them by number."""
        found = find_places(labels)
        batch = {"input_ids": input_ids, "labels": labels}
        batch |= {} if attention_mask is None else {"attention_mask": attention_mask}
        batch |= {} if rows is None else {"rows": rows}
        taught = self.taught(self.states(batch, found), self.voice(batch, found), found.targets)
        self.sums.cross_entropy += float(taught.cross_entropy.detach())
        self.sums.divergence += float(taught.divergence.detach())
        return taught.loss / places

    def taught(
        self, states: torch.Tensor, said: FromHidden | TopK, targets: torch.Tensor
    ) -> Distilled:
        return head_distillation(states, self.head, said, targets, self.divergence, self.alpha)
