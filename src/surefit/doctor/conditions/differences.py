"""The difference that a loss is made of has as many values as there are predictions."""

from dataclasses import dataclass
from math import prod

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import shape_of


@dataclass(frozen=True, slots=True)
class DifferenceOver:
    """A difference of this shape is in the graph of the first loss, and none of the other."""

    shape: tuple[int, ...]
    not_over: tuple[int, ...]
    steps: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        found = [one.shape for steps in final_steps(after) for one in steps.differences]
        if not found:
            return Judgement(False, "no difference was seen in the graph of the loss", False)
        if self.not_over in found or self.shape not in found:
            return Judgement(False, f"the loss is taken over {shape_of(found[0])}")
        values, before_ = prod(self.shape), prod(self.not_over)
        return Judgement(True, f"the loss is taken over {values:,} values, not over {before_:,}")
