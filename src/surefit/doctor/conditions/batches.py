"""How many rows the batches of a patched run have."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.progress import steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, listed


@dataclass(frozen=True, slots=True)
class WholeBatches:
    """Every batch that comes to a line in training has as many rows as a whole one."""

    place: Place
    text: str
    """What has the rows on its first axis there."""
    mode: str
    """What says there whether the model is in training mode: `self.training`."""
    rows: int
    changes_the_past: bool = False

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text, self.mode))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        came = passed_at(self.watchpoint, after)
        training = [(one.step, rows) for one in came if (rows := self.rows_in_training(one))]
        if not any(step >= at for step, _ in training):
            return Judgement(False, f"no batch came to {self.place} after the fault", False)
        other = sorted({rows for _, rows in training} - {self.rows})
        if other:
            return Judgement(False, f"batches of {listed(other)} come to {self.place}, too")
        batches = counted(len(training), "batch")
        return Judgement(
            True,
            f"{code(self.text)} has {self.rows} rows in each of the {batches} that come to"
            f" {self.place} in training",
        )

    def rows_in_training(self, one: Passed) -> int:
        """None in evaluation."""
        values = {value.text: value for value in one.values}
        mode, value = values.get(self.mode), values.get(self.text)
        if mode is None or mode.scalar is not True or value is None or not value.shape:
            return 0
        return value.shape[0]
