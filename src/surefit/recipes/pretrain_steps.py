"""Which steps of a batch the loss sees, and the loss over those of all held-out rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from surefit.data.features.loader import Batch, FeatureLoader
from surefit.data.features.make import read_source
from surefit.data.features.masks import masked_steps
from surefit.losses.features import Objective, next_steps
from surefit.train.ranks import Ranks

from .sft_judge import outermost_whole

VALIDATION = 1_000_000_007
"""Added to the seed for masks of held-out rows, which are the same in every epoch."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """Makes of batches what the loss is given."""

    objective: Objective
    mask: float
    seed: int
    rows_per_step: int
    """Over all processes."""

    accelerator: Accelerator
    ranks: Ranks

    def given(self, batch: Batch, epoch: int, step: int) -> dict[str, Any]:
        """What the loss takes, on the device; `places` counts the supervised steps of this batch.

        Masks follow from seed, epoch and the places of rows in the order of that epoch, in however
        many processes.
        """
        return self._given(batch, self.seed, epoch, step)

    def held_out(self, batch: Batch, step: int) -> dict[str, Any]:
        """The same of held-out rows, which always come in the same order: masks never change."""
        return self._given(batch, self.seed + VALIDATION, 0, step)

    def _given(self, batch: Batch, seed: int, epoch: int, step: int) -> dict[str, Any]:
        features, real = features_of(batch), batch["attention_mask"]
        given = {"inputs_embeds": features, "attention_mask": real}
        if not self.objective.causal:
            rank, world = self.ranks.rank, self.ranks.world
            numbers = step * self.rows_per_step + rank + world * np.arange(len(features))
            masked = masked_steps(numbers, features.shape[1], self.mask, seed, epoch)
            given["masked"] = torch.from_numpy(masked) & real.bool()
        moved = {name: value.to(self.accelerator.device) for name, value in given.items()}
        return {**moved, "places": max(1, self._own(moved))}

    def places(self, given: dict[str, Any]) -> int:
        """Supervised steps of the whole optimizer step, over all processes."""
        (places,) = self.ranks.summed(float(self._own(given)))
        return max(1, int(places))

    def mean_loss(self, loss_of: Any, held_out: FeatureLoader) -> float | None:
        """Over the supervised steps of all held-out rows; None if there are none."""
        if not len(held_out):
            return None
        module = self.accelerator.unwrap_model(loss_of)
        was_training = module.training
        module.eval()
        total, places = 0.0, 0
        with torch.no_grad(), self.accelerator.autocast(), outermost_whole(module):
            for step, batch in enumerate(held_out):
                given = self.held_out(batch, step)
                places += self._own(given)
                total += float(module(**{**given, "places": 1}))
        module.train(was_training)
        return self._mean(total, places)

    def best_possible(self, data: Path, held_out: FeatureLoader) -> float | None:
        """Of one who knows the source, on the same steps; None where nobody does."""
        source = read_source(data)
        if source is None or not len(held_out):
            return None
        total, places = 0.0, 0
        for step, batch in enumerate(held_out):
            given = self.held_out(batch, step)
            if count := self._own(given):
                masked = None if self.objective.causal else given["masked"].cpu().numpy()
                total += source.best_loss(features_of(batch).numpy(), masked) * count
                places += count
        return self._mean(total, places)

    def _mean(self, total: float, places: int) -> float:
        total, counted = self.ranks.summed(total, float(places))
        return total / counted

    def _own(self, given: dict[str, Any]) -> int:
        if self.objective.causal:
            return int(next_steps(given["inputs_embeds"], given["attention_mask"]).sum())
        return int(given["masked"].sum())


def first_batches(batches: FeatureLoader, count: int) -> Iterator[Batch]:
    """The first `count` of them; not one more is read."""
    left = count
    for batch in batches if count else ():
        yield batch
        left -= 1
        if not left:
            return


def features_of(batch: Batch) -> torch.Tensor:
    """`[rows, steps, features]`, or of one-hot rows `[rows, steps]` of indices."""
    return batch["input_ids"] if "input_ids" in batch else batch["inputs_embeds"]
