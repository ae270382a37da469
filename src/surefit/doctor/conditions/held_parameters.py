"""An optimizer holds parameters, and they get gradients."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class ParametersAreHeld:
    """At least so many tensors are held by optimizers, and each of them got a gradient."""

    tensors: int
    changes_the_past: bool = False
    steps: int | None = 2

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        held = [one for steps in final_steps(after) for one in steps.parameters]
        names = {(one.name, one.serial) for one in held}
        if not held:
            return Judgement(False, "no step was seen", False)
        without = {one.name for one in held if one.looked and one.absent == one.looked}
        if len(names) < self.tensors or without:
            said = (
                f"{counted(len(names), 'tensor')} are held, {len(without)} of them get no gradient"
            )
            return Judgement(False, said)
        return Judgement(
            True, f"{counted(len(names), 'tensor')} are held, all of them get gradients"
        )
