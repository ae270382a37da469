"""How many optimizer steps a run takes, and how they fall into epochs."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps of an epoch, of the run, and batches that share a step."""

    epoch_steps: int
    steps: int
    accumulate: int

    @classmethod
    def of(
        cls, *, rows: int, batch_size: int, accumulate: int, epochs: int, max_steps: int | None
    ) -> "Plan":
        epoch_steps = math.ceil(math.ceil(rows / batch_size) / accumulate)
        steps = epochs * epoch_steps
        return cls(epoch_steps, min(steps, max_steps or steps), accumulate)

    @property
    def epochs(self) -> int:
        """Epochs begun; `max_steps` can end the last one early."""
        return math.ceil(self.steps / self.epoch_steps)

    def groups(self, order: list[list[int]], epoch: int) -> list[list[list[int]]]:
        """The batches of an epoch, as many together as share an optimizer step."""
        starts = range(0, len(order), self.accumulate)
        together = [order[start : start + self.accumulate] for start in starts]
        return together[: self.steps - epoch * self.epoch_steps]
