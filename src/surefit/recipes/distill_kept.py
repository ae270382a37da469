"""What was kept of a teacher, as a voice: rows are known by their numbers."""

import math
from dataclasses import dataclass

import torch

from surefit.losses.places import Places
from surefit.losses.student import Batch
from surefit.losses.teacher import TopK
from surefit.train.teacher_cache import TeacherCache


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

    def _uniform(self, places: int, device: torch.device) -> TopK:
        """In place of rows that are not known, of the same size, to see what a step takes."""
        level = math.log(self.tokens)
        ids = torch.arange(self.cache.k, device=device).expand(places, -1)
        return TopK(
            ids,
            torch.full(ids.shape, -level, device=device),
            torch.full((places,), (1 - 1 / self.temperature) * level, device=device),
        )
