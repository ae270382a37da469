"""An optimizer holds parameters, and takes steps with their gradients."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class OptimizerSteps:
    """An optimizer of this class takes steps, and its parameters have gradients at them."""

    kind: str

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        every = final_steps(after)
        ours = [one for steps in every for one in steps.optimizers if one.kind == self.kind]
        stepped = [one for one in ours if one.steps]
        if not stepped:
            return Judgement(False, f"no `{self.kind}` was seen to take a step", False)
        idle = [one for one in stepped if one.looked and one.without_gradient == one.looked]
        if idle:
            return Judgement(False, f"`{self.kind}` takes steps without any gradient")
        tensors = sum(one.tensors for one in stepped)
        model = sum(root.tensors for steps in every for root in steps.roots if root.held)
        of = f" of the model's {model:,}" if model >= tensors else ""
        steps = counted(max(one.steps for one in stepped), "step")
        return Judgement(
            True, f"`{self.kind}` holds {tensors:,}{of} parameters, with gradients at {steps}"
        )
