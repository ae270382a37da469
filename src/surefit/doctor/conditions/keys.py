"""A value can be read under its key."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Value, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, shape_of


@dataclass(frozen=True, slots=True)
class KeyIsThere:
    """Each time that the failing statement is reached, there is a value under the key."""

    place: Place
    text: str
    """`batch['labels']`, `rows[0]['weight']`."""
    like: Value | None = None
    """The same value in the first run, if it was there under another key."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text,))

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = passed_at(self.watchpoint, after)
        values = [value for one in came for value in one.values]
        if not values:
            return Judgement(False, f"{code(self.text)} was not seen at {self.place}", False)
        if len(values) < len(came):
            return Judgement(False, f"{code(self.text)} is not always there at {self.place}")
        first = values[0]
        if self.like and (first.kind, first.shape) != (self.like.kind, self.like.shape):
            return Judgement(False, f"{code(self.text)} is another value than in the first run")
        if first.kind == "NoneType":
            return Judgement(False, f"{code(self.text)} is None at {self.place}")
        what = shape_of(first.shape) if first.shape else first.kind
        times = counted(len(values), "time")
        return Judgement(True, f"{code(self.text)} is there at {self.place}, {what}, {times}")
