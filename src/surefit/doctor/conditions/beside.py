"""A model that is run beside the trained one, and how."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import BesideSeen
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

USUAL_STEPS = 4


@dataclass(frozen=True, slots=True)
class Alike:
    """What tells a model again in another run: lines and numbers of making move with a patch."""

    kind: str
    parameters: int

    def among(self, seen: Recording) -> list[BesideSeen]:
        every = [one for steps in final_steps(seen) for one in steps.beside]
        return [one for one in every if (one.kind, one.parameters) == (self.kind, self.parameters)]


@dataclass(frozen=True, slots=True)
class RunsInEvaluationMode:
    """A model that learns nothing by its calls is called in evaluation mode alone."""

    model: Alike
    late: bool = False
    """It was trained itself before that, so that the whole run must be seen."""

    def steps_needed(self, before: Recording) -> int | None:
        return None if not self.late else max((one.steps for one in final_steps(before)), default=0)

    def needs(self, before: Recording) -> Needs:
        return Needs(steps=self.steps_needed(before), changes_the_past=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        found = self.model.among(after)
        drawn = sum(one.idle for one in found)
        calls = drawn + sum(one.evaluating for one in found)
        if not calls:
            return Judgement(False, f"`{self.model.kind}` was not called", False)
        active = [one for one in found if one.idle]
        said = f"{drawn:,} of {counted(calls, 'call')} of it are in training mode"
        if drawn:
            dropouts = counted(sum(one.dropouts for one in active), "dropout layer")
            norms = counted(sum(one.norms for one in active), "batch norm")
            said += f", with {dropouts} and {norms} in that mode, too"
        return Judgement(not drawn, said)


@dataclass(frozen=True, slots=True)
class IsRun:
    """A model that was not run in training is run at every step."""

    model: Alike
    steps: int = USUAL_STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        taken = max((one.steps for one in final_steps(after)), default=0)
        calls = sum(one.training + one.evaluating for one in self.model.among(after))
        earlier = sum(one.training + one.evaluating for one in self.model.among(before))
        said = f"`{self.model.kind}` is called {counted(calls, 'time')} in {counted(taken, 'step')}"
        if not taken:
            return Judgement(False, said, False)
        return Judgement(calls >= taken and calls > earlier, said)
