"""A table of pandas is numbered anew, and has all its rows."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class Numbered:
    """Where a row was asked for, the index is 0, 1, 2... up to as many rows as there were."""

    place: Place
    text: str
    rows: int

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text,))

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = passed_at(self.watchpoint, after)
        values = [value for one in came for value in one.values]
        if not values:
            return Judgement(False, f"`{self.text}` was not seen again at {self.place}", False)
        gaps = [value for value in values if value.numbered is not True]
        if gaps:
            return Judgement(False, f"the index of `{self.text}` still has gaps at {self.place}")
        whole = [value for value in values if value.length == self.rows]
        rows = counted(self.rows, "row")
        if not whole:
            return Judgement(False, f"`{self.text}` has not its {rows} any more")
        times = counted(len(values), "time")
        return Judgement(True, f"`{self.text}` has all its {rows}, numbered from 0, {times} seen")
