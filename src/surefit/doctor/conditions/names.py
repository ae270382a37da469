"""Names stand for something in the installed libraries, and the statement that needs them runs."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Question, Value, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, shape_of, spoken


@dataclass(frozen=True, slots=True)
class NamesExist:
    """Every new name is in the installed library, and the patched statement comes to its end."""

    question: Question
    names: tuple[str, ...]
    place: Place
    texts: tuple[str, ...] = ()
    """What the statement gives values to."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), self.texts, after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        answer = next((one for one in before.all(Answer) if one.question == self.question), None)
        exist = answer.said.get("exist", []) if answer and answer.said else []
        near = answer.said.get("near", {}) if answer and answer.said else {}
        alike = {one for names in near.values() for one in names}
        absent = [
            name
            for name in self.names
            if name not in exist and name.rpartition(".")[2] not in alike
        ]
        if absent or not self.names:
            return Judgement(False, f"{spoken(map(code, absent))} was not found", False)
        came = passed_at(self.watchpoint, after)
        if not came:
            return Judgement(False, f"{self.place} was not seen to come to its end", False)
        shown = spoken(code(name.lstrip(".")) for name in self.names)
        are = "is" if len(self.names) == 1 else "are"
        made = "".join(
            f"; {code(one.text)} is {size}" for one in came[0].values if (size := of(one))
        )
        return Judgement(True, f"{shown} {are} installed, and {self.place} comes to its end{made}")


def of(value: Value) -> str:
    """`float64 (30, 3)`, `30 rows`, a single number; nothing where that says nothing."""
    if value.shape is not None:
        return f"{value.dtype} {shape_of(value.shape)}"
    if value.length is not None and value.kind != "str":
        return f"{value.kind} of {value.length:,}"
    return f"{value.scalar}" if type(value.scalar) in (int, float) else ""
