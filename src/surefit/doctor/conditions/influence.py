"""That a value which was left out before takes part in the loss."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class LossesChange:
    """Losses of the same steps, from the same random states, are other numbers with the fix."""

    name: str
    """Of the value."""
    steps: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002 - as every condition
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        first, second = losses(before), losses(after)
        both = first.keys() & second.keys()
        other = [step for step in both if first[step] != second[step]]
        if not both:
            return Judgement(False, "no loss of the same step was seen", decided=False)
        if not other:
            return Judgement(False, f"`{self.name}` changes no loss")
        changed = f"{len(other):,} of {len(both):,} losses are other numbers with it"
        return Judgement(True, f"`{self.name}` takes part: {changed}")


def losses(recording: Recording) -> dict[int, float]:
    return dict(final_steps(recording)[0].losses) if final_steps(recording) else {}
