"""A batch comes out of a loader that gave none."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.conditions.rows import first_size
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class FirstBatchComes:
    """In a loop that never ran a batch arrives, with all rows that there are."""

    place: Place
    """The first statement of the loop."""
    names: tuple[str, ...]
    size: int
    """Rows of a whole batch: there were fewer."""
    rows: int | None = None
    """As many as there are, where that is known."""
    changes_the_past: bool = False
    steps: int | None = None

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), self.names)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(
            steps=self.steps, changes_the_past=self.changes_the_past, watchpoints=(self.watchpoint,)
        )

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = [one for one in after.all(Passed) if one.watched == self.watchpoint]
        if not came:
            return Judgement(False, f"no batch came by at {self.place}")
        counts = [rows for one in came if (rows := first_size(one.values)) is not None]
        if not counts:
            return Judgement(False, "the rows of the batch could not be counted", False)
        rows = next((one for one in counts if self.fits(one)), counts[0])
        said = f"a batch with {counted(rows, 'row')} arrives at {self.place}"
        return Judgement(self.fits(rows), said)

    def fits(self, rows: int) -> bool:
        """Another loader may come by the same line, with whole batches."""
        return 0 < rows < self.size and self.rows in (None, rows)
