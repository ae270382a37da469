"""One update of the student: there and back, a step of its optimizer, and what it was."""

import math
from dataclasses import dataclass
from typing import Any

from accelerate import Accelerator

from surefit.losses.student import StudentLoss
from surefit.train.ranks import Ranks
from surefit.train.step import forward_backward

from .distill_batches import Lesson
from .distill_report import Tally


@dataclass(frozen=True, slots=True)
class Updated:
    """Means over the supervised tokens of the step, of all processes."""

    loss: float
    cross_entropy: float
    divergence: float
    """At the temperature, times its square, before its share is taken."""

    norm: float
    """Of the gradients, before they are shortened."""

    skipped: bool
    """The optimizer left its step out, since gradients had overflowed."""


@dataclass(frozen=True, slots=True)
class Updating:
    """Updates of one student."""

    accelerator: Accelerator
    ranks: Ranks
    student: StudentLoss
    prepared: Any
    """The student as accelerate made it ready, and its optimizer."""

    stepper: Any
    schedule: Any
    max_grad_norm: float
    tally: Tally

    def __call__(self, lesson: Lesson) -> Updated:
        """Where the loss is no number, nothing has moved."""
        places = lesson.places
        there = forward_backward(
            self.accelerator, self.ranks, self.prepared, lesson.batches, places, self.max_grad_norm
        )
        own = self.student.sums.take()
        sums = self.ranks.summed(there.loss, own.cross_entropy, own.divergence)
        loss, cross_entropy, divergence = sums
        skipped = False
        if math.isfinite(loss):
            self.stepper.step()
            skipped = bool(self.accelerator.optimizer_step_was_skipped)
            self.tally.add(loss, cross_entropy, divergence, places)
            self.tally.updates += not skipped
            self.tally.skipped += skipped
            if not skipped:
                self.schedule.step()
        self.stepper.zero_grad()
        return Updated(loss, cross_entropy / places, divergence / places, there.norm, skipped)
