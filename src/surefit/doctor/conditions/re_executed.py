"""What failed, done again on the captured input in the crashed process."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import Answer, Question
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class ReExecuted:
    """The failing call, made again on the captured input in its own process, gives equal values."""

    question: Question
    what: str
    """What was compared: "`labels.reshape(-1)` and `labels.contiguous().view(-1)`"."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(no_run=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        answer = next((a for a in before.all(Answer) if a.question == self.question), None)
        if answer is None or answer.said is None:
            why = answer.why_not if answer else "the process had ended"
            return Judgement(False, f"{self.what}: not compared: {why}", False)
        elements = answer.said.get("elements")
        count = elements if isinstance(elements, int) else 0
        equal = answer.said.get("equal") is True
        if equal and count:
            return Judgement(True, f"{self.what}: {counted(count, 'element')}, all equal")
        return Judgement(False, f"{self.what}: of {counted(count, 'element')} not all are equal")
