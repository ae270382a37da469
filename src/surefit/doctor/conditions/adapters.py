"""Adapters are there, and training changes them."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.conditions.parameters import parameters
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, some


@dataclass(frozen=True, slots=True)
class AdaptersMove:
    """An optimizer holds parameters with this in their names, and its steps change each of them."""

    part: str = "lora_"
    steps: int | None = 3
    """The first step changes one half of each alone: the other begins at zero."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        ours = [one for one in parameters(after) if self.part in one.name]
        if not ours:
            return Judgement(False, f"no optimizer holds a parameter named `{self.part}`")
        still = [one.name for one in ours if one.sampled == one.unchanged]
        if still:
            return Judgement(False, f"{some(still)} stands still")
        return Judgement(True, f"all {counted(len(ours), 'adapter tensor')} move")
