"""Positions that are asked for lie inside of what is asked."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted


@dataclass(frozen=True, slots=True)
class PositionsInside:
    """At the failing statement every position, with what is added to it, has a value."""

    place: Place
    holder: str
    position: str
    added: int
    rows: int
    """Of the holder, in the first run; none may be lost."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.holder, self.position))

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=True, watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        greatest, times = -1, 0
        for one in after.all(Passed):
            values = {value.text: value for value in one.values}
            if one.watched != self.watchpoint or len(values) < 2:
                continue
            holder, position = values[self.holder], values[self.position].scalar
            rows = holder.shape[0] if holder.shape else holder.length
            if rows != self.rows or not isinstance(position, int):
                return Judgement(False, f"{code(self.holder)} is not what it was")
            if position + self.added >= rows:
                return Judgement(False, f"position {position + self.added:,} of {rows:,} is asked")
            greatest, times = max(greatest, position + self.added), times + 1
        if not times:
            return Judgement(False, f"{code(self.holder)} was not seen at {self.place}", False)
        return Judgement(
            True,
            f"{counted(times, 'position')} asked at {self.place}, {greatest:,} the furthest, all"
            f" inside of the {self.rows:,} of {code(self.holder)}",
        )
