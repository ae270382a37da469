"""A model is evaluated, and nothing is caught in the meantime."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.moved import moved_to
from surefit.doctor.observations import Steps, Swallowed
from surefit.doctor.progress import final_steps, steps_before
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class EvaluationRuns:
    """A handler that caught what evaluation raised catches nothing, and the model is evaluated."""

    handler: Place
    entries: int
    """How often its `try` was entered in the first run."""
    changes_the_past: bool = False
    """The fix can change what comes before: the size of a model, say."""

    def steps_needed(self, before: Recording) -> int | None:
        """Past the first time that it caught something."""
        caught = [one for one in before.all(Swallowed) if one.handler == self.handler]
        crashes = [crash for one in caught if (crash := before.crash(one.crash))]
        return min((steps_before(crash, before) + 2 for crash in crashes), default=None)

    def needs(self, before: Recording) -> Needs:
        return Needs(steps=self.steps_needed(before), changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        lines = moved_to(self.handler, before, after)
        caught = [
            one
            for one in after.all(Swallowed)
            if one.handler.file == self.handler.file and one.handler.line in lines
        ]
        if caught:
            times = counted(sum(one.times for one in caught), "time")
            return Judgement(False, f"{self.handler} still catches, {times}: {caught[0].said}")
        calls = sum(evaluations(steps) for steps in final_steps(after))
        if not calls:
            return Judgement(False, "the model was not called in evaluation")
        return Judgement(
            True,
            f"nothing is caught at {self.handler}, where evaluation was tried"
            f" {counted(self.entries, 'time')} before; the model was called"
            f" {counted(calls, 'time')} in evaluation",
        )


def evaluations(steps: Steps) -> int:
    """Outermost calls of a model in evaluation mode; where it was left in training mode, those
    without gradients, of which only the kinds between two steps are known."""
    called = sum(root.evaluating for root in steps.roots)
    return called or sum(times for cycle, times in steps.cycles.items() if "t" in cycle)
