"""Training goes on past the fault: finite losses, gradients, and the rows and labels it had."""

from dataclasses import dataclass
from math import isfinite

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import Ended
from surefit.doctor.progress import final_steps, steps_before_the_fault, steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, listed

PAST = 3
"""Optimizer steps beyond the fault."""


@dataclass(frozen=True, slots=True)
class TrainingGoesOn:
    """What every remedy must achieve, where nothing more is known of it."""

    changes_the_past: bool = False
    rows_change: bool = False
    """The remedy is about the number of rows, so that it need not be as before."""

    def needs(self, before: Recording) -> Needs:
        steps = steps_before_the_fault(before) + PAST
        return Needs(steps=steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        taken, trained = steps_taken(after), final_steps(after)
        code = next((ended.code for ended in after.all(Ended)), None)
        if not trained:
            return Judgement(code == 0, "it runs to its end; it trains nothing", code == 0)
        losses = [value for steps in trained for step, value in steps.losses if step >= at]
        is_past = bool(losses) or taken > at
        if not is_past and code != 0:
            return Judgement(False, "no loss was computed past the fault", decided=False)
        if not all(map(isfinite, losses)) or any(steps.losses_not_finite for steps in trained):
            return Judgement(False, "the loss is not finite")
        lost = self.rows_lost(before, after)
        if lost:
            return Judgement(False, lost)
        if not is_past:  # the fault came after the last step
            return Judgement(True, f"it runs to its end after step {taken:,}")
        shown = f"the loss is {losses[0]:.4g}" if losses else "every loss is finite"
        rows = batch_rows(after)
        batches = f", {counted(max(rows), 'row')} a batch" if rows else ""
        return Judgement(True, f"training goes on to step {taken:,}: {shown}{batches}")

    def rows_lost(self, before: Recording, after: Recording) -> str:
        """Batches of the first calls must have as many rows as they had."""
        had, have = batch_rows(before), batch_rows(after)
        missing = sorted(had - have)
        if self.rows_change or not missing or not have:
            return ""
        return f"batches of {listed(missing)} rows no longer reach the model"


def batch_rows(recording: Recording) -> set[int]:
    """Rows of the batches that a model was called with while it learned."""
    return {
        shape[0]
        for steps in final_steps(recording)
        for call in steps.inputs
        if call.training
        for shape in list(call.shapes.values())[:1]
        if shape
    }
