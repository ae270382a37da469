"""What was kept of a teacher, as a voice: rows are known by their numbers."""

import math
from dataclasses import dataclass

import torch

from surefit.losses.places import Places
from surefit.losses.student import Batch
from surefit.losses.teacher import TopK
from surefit.train.teacher_cache import TeacherCache

TRAINING, HELD_OUT = "train", "held_out"
"""Parts of the rows, as a cache names them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a teacher, by the numbers of rows."""

    cache: TeacherCache
    tokens: int
    temperature: float

    def of(self, part: str, batch: Batch, places: Places) -> TopK:
        device = batch["input_ids"].device
        if "rows" not in batch:
            return self._uniform(len(places), device)
        # A process that only goes along with others has a row and none of its places.
        said = self.cache.of(part, batch["rows"].tolist() if len(places) else [])
        target = said.target_log_probability
        return TopK(
            said.ids.to(device),
            said.log_probabilities.to(device),
            said.log_normaliser.to(device),
            None if target is None else target.to(device),
        )

    def share(self) -> float:
        """How much of the probability the kept tokens have: a mean over one held-out row."""
        said = self.cache.of(HELD_OUT, [0])
        tempered = said.log_probabilities.float() / self.temperature
        of_places = (tempered - said.log_normaliser[:, None]).exp().sum(1)
        return float(of_places.clamp(max=1.0).mean())

    def _uniform(self, places: int, device: torch.device) -> TopK:
        """In place of rows that are not known, of the same size, to see what a step takes."""
        level = math.log(self.tokens)
        ids = torch.arange(self.cache.k, device=device).expand(places, -1)
        return TopK(
            ids,
            torch.full(ids.shape, -level, device=device),
            torch.full((places,), (1 - 1 / self.temperature) * level, device=device),
        )
