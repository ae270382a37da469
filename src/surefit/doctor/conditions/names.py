"""Names stand for something in the installed libraries, and the statement that needs them runs."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Passed, Question, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, spoken


@dataclass(frozen=True, slots=True)
class NamesExist:
    """Every new name is in the installed library, and the patched statement comes to its end."""

    question: Question
    names: tuple[str, ...]
    place: Place

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (), after=True)

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
        if not any(one.watched == self.watchpoint for one in after.all(Passed)):
            return Judgement(False, f"{self.place} was not seen to come to its end", False)
        shown = spoken(code(name.lstrip(".")) for name in self.names)
        are = "is" if len(self.names) == 1 else "are"
        return Judgement(True, f"{shown} {are} installed, and {self.place} comes to its end")
