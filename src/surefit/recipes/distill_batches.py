"""What a student learns from in a step: rows, or what it writes itself after their prompts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from surefit.data.batches import Batch, PadRows, unsupervised
from surefit.data.order import epoch_batches
from surefit.data.step_batches import StepBatches
from surefit.data.templates import Tokenizer
from surefit.losses.places import supervised_places
from surefit.models.sample import written_by
from surefit.train.plan import StepRows
from surefit.train.ranks import Ranks

Rows = list[list[int]]
"""Numbers of the rows of a step, batch by batch, over all processes."""


@dataclass(slots=True)
class StepOrder:
    """Which rows come in which step: a pure function of its number."""

    lengths: Sequence[int]
    step: StepRows
    seed: int
    _epoch: int = -1
    _steps: list[Rows] = field(default_factory=list)

    @property
    def epoch_steps(self) -> int:
        batches = math.ceil(len(self.lengths) / self.step.in_a_batch)
        return math.ceil(batches / self.step.batches)

    def __call__(self, number: int) -> Rows:
        epoch, at = divmod(number, self.epoch_steps)
        if epoch != self._epoch:
            order = epoch_batches(self.lengths, self.step.in_a_batch, self.seed, epoch)
            starts = range(0, len(order), self.step.batches)
            self._steps = [order[start : start + self.step.batches] for start in starts]
            self._epoch = epoch
        return self._steps[at]


@dataclass(frozen=True, slots=True)
class Lesson:
    """The batches of one step that are this process's."""

    batches: list[Batch]
    places: int
    """That the loss sees, over all processes."""

    own: bool
    """Whether the student wrote the answers."""

    tokens: int
    """Over all processes, without padding."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons of a run, one for each step; which of them are the student's own follows from seed
    and step."""

    rows: StepBatches
    student: Any
    tokenizer: Tokenizer
    on_policy: float
    seed: int
    max_new_tokens: int
    max_tokens: int
    ranks: Ranks

    def of(self, step: Rows, number: int) -> Lesson:
        if Random(f"on-policy {self.seed} {number}").random() >= self.on_policy:
            return self.of_rows(step)
        batches = [
            self._written(part) if part else unsupervised(self.rows.made(step[0][:1]))
            for part in self.rows.parts(step)
        ]
        places = sum(supervised_places(batch["labels"]) for batch in batches)
        tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
        together, all_tokens = self.ranks.summed(float(places), float(tokens))
        return Lesson(batches, int(together), own=True, tokens=int(all_tokens))

    def of_rows(self, step: Rows) -> Lesson:
        parts = self.rows.parts(step)
        batches = [
            numbered(self.rows.made(part), part)
            if part
            else unsupervised(numbered(self.rows.made(step[0][:1]), step[0][:1]))
            for part in parts
        ]
        tokens = self.rows.tokens(step)
        return Lesson(batches, self.rows.places(step), own=False, tokens=tokens)

    def _written(self, part: Sequence[int]) -> Batch:
        prompts = [self.rows.rows.tokens[row].prompt for row in part]
        room = self.max_tokens - max(map(len, prompts))
        most = max(1, min(self.max_new_tokens, room))
        made = written_by(self.student, self.tokenizer, prompts, max_new_tokens=most)
        return PadRows(pad_id=self.rows.pad_id)(made)


def numbered(batch: Batch, rows: Sequence[int]) -> Batch:
    """With the numbers of its rows, for a teacher that knows them by number."""
    return {**batch, "rows": torch.tensor(list(rows))}
