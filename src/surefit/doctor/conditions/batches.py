"""How many rows the batches of a patched run have."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.progress import steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, listed


@dataclass(frozen=True, slots=True)
class WholeBatches:
    """Every batch that comes to a line has as many rows as a whole one."""

    place: Place
    text: str
    """What has the rows on its first axis there."""
    mode: str
    """What says there whether the model is in training mode: `self.training`."""
    rows: int
    changes_the_past: bool = False
    training: bool = True
    """Only batches in training count; otherwise, only those in evaluation."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text, self.mode))

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=self.changes_the_past, watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        came = passed_at(self.watchpoint, after)
        ours = [(one.step, rows) for one in came if (rows := self.rows_of(one))]
        if not any(step >= at for step, _ in ours):
            return Judgement(False, f"no batch came to {self.place} after the fault", False)
        other = sorted({rows for _, rows in ours} - {self.rows})
        if other:
            return Judgement(False, f"batches of {listed(other)} come to {self.place}, too")
        batches = counted(len(ours), "batch")
        mode = "training" if self.training else "evaluation"
        return Judgement(
            True,
            f"{code(self.text)} has {self.rows} rows in each of the {batches} that come to"
            f" {self.place} in {mode}",
        )

    def rows_of(self, one: Passed) -> int:
        """None in the other mode."""
        values = {value.text: value for value in one.values}
        mode, value = values.get(self.mode), values.get(self.text)
        if mode is None or mode.scalar is not self.training or value is None or not value.shape:
            return 0
        return value.shape[0]
