"""A table has grown by as many rows as were added to it."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted


@dataclass(frozen=True, slots=True)
class RowsAdded:
    """Behind a statement a table has the rows that it had, and those that were added."""

    place: Place
    text: str
    """What the statement gives the larger table to."""
    before: int
    added: int

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text,), after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = passed_at(self.watchpoint, after)
        rows = [value.length for one in came for value in one.values if value.length is not None]
        if not rows:
            return Judgement(False, f"{code(self.text)} was not seen behind {self.place}", False)
        wanted = self.before + self.added
        had = f"{code(self.text)} had {counted(self.before, 'row')}"
        if rows[0] != wanted:
            said = f"{had}, {self.added:,} are added, and it has {counted(rows[0], 'row')}"
            return Judgement(False, said)
        times = counted(len(rows), "time")
        return Judgement(True, f"{had} and has {wanted:,} behind {self.place}, {times} seen")
