"""A call gives only arguments that the installed function takes, and comes back."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Question, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, spoken


@dataclass(frozen=True, slots=True)
class ArgumentsFit:
    """Every argument of the patched call is one of the function, and the call gives a value."""

    question: Question
    """What functions take; `text` is how the source has this one."""
    text: str
    names: tuple[str, ...]
    """All that the patched call gives by name."""
    place: Place
    """The statement of the call."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (), after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        answer = next((one for one in before.all(Answer) if one.question == self.question), None)
        functions = answer.said.get("functions", {}) if answer and answer.said else {}
        takes = functions.get(self.text, {}).get("takes")
        if not isinstance(takes, list):
            return Judgement(False, "what the function takes is not known", False)
        strange = [name for name in self.names if name not in takes]
        if strange:
            return Judgement(False, f"it takes no {spoken(map(code, strange))}")
        came = passed_at(self.watchpoint, after)
        if not came:
            return Judgement(False, f"the call at {self.place} was not seen to come back", False)
        given = counted(len(self.names), "named argument")
        return Judgement(True, f"{given} of the call, all among the {len(takes):,} that it takes")
