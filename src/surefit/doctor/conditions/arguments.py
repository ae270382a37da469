"""A call gives only arguments that the installed function takes, and comes back."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Passed, Question, Watchpoint
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
    changes_the_past: bool = False
    steps: int | None = None

    def wants(self, before: Recording) -> int | None:  # noqa: ARG002
        return self.steps

    def watches(self, before: Recording) -> tuple[Watchpoint, ...]:  # noqa: ARG002
        return (self.watchpoint,)

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (), after=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        answer = next((one for one in before.all(Answer) if one.question == self.question), None)
        functions = answer.said.get("functions", {}) if answer and answer.said else {}
        takes = functions.get(self.text, {}).get("takes")
        if not isinstance(takes, list):
            return Judgement(False, "what the function takes is not known", False)
        strange = [name for name in self.names if name not in takes]
        if strange:
            return Judgement(False, f"it takes no {spoken(map(code, strange))}")
        came = [one for one in after.all(Passed) if one.watched == self.watchpoint]
        if not came:
            return Judgement(False, f"the call at {self.place} was not seen to come back", False)
        given = counted(len(self.names), "named argument")
        return Judgement(True, f"{given} of the call, all among the {len(takes):,} that it takes")
