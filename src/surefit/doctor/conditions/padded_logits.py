"""How much of what a divergence compares lies on columns that no model gave."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import LossCall
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording

LEAST_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class NoMassOnPadding:
    """No part of a distribution lies on columns that no model gave, and the others are there."""

    width: int
    steps: int = 2

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        found = [one for steps in final_steps(after) for one in divergences(steps.loss_calls)]
        if not found:
            return Judgement(False, "no divergence was computed", False)
        share = max(max(one.tail_share, one.target_tail_share) for one in found)
        widths = {one.shape[-1] for one in found if one.shape}
        said = f"{share:.1%} of the mass lies on added columns"
        if widths != {self.width}:
            compared = ", ".join(f"{width:,}" for width in sorted(widths))
            return Judgement(False, f"{compared} columns are compared; {said}")
        return Judgement(share < LEAST_SHARE, f"{self.width:,} columns are compared; {said}")


def divergences(calls: tuple[LossCall, ...]) -> list[LossCall]:
    return [one for one in calls if one.name == "kl_div" and one.training and one.looked]
