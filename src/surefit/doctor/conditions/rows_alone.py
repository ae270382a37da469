"""A model gives each row of a batch what it gives the row alone."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import Answer, Question
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class RowsAsAlone:
    """By what the crashed process computed on a copy of its model."""

    question: Question
    changes_the_past: bool = False
    steps: int | None = None

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        answers = [one.said for one in before.all(Answer) if one.question == self.question]
        said = answers[-1] if answers else None
        if not said or said.get("difference") is None:
            return Judgement(False, "rows could not be compared with themselves alone", False)
        difference = float(said["difference"])
        rows = counted(int(said["rows"]), "row")
        text = f"logits of {rows} in the batch and alone differ by {at_most(difference)}"
        return Judgement(difference <= TOLERANCE, text)


def at_most(difference: float) -> str:
    """`less than 1e-05`: the last digits are another machine's others."""
    bound = next((one for one in (1e-5, 1e-4, 1e-3, 1e-2) if difference < one), None)
    return f"less than {bound:.0e}" if bound else f"{difference:.2g}"
