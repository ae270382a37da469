"""A loss is given as many rows of predictions as labels."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import LossCall
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of


@dataclass(frozen=True, slots=True)
class RowsAtTheLoss:
    """Where gradients are recorded, both sides of a loss have as many rows as a batch."""

    rows: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        calls = [call for steps in final_steps(after) for call in steps.loss_calls]
        training = [call for call in calls if call.training and call.looked]
        if not training:
            return Judgement(False, "no call of a loss was seen", False)
        uneven = next((call for call in training if not self.is_even(call)), None)
        call = uneven or training[-1]
        given = f"{shape_of(call.shape)} predictions and {shape_of(call.target_shape)} labels"
        said = f"`{call.name}` is given {given}"
        if uneven:
            return Judgement(False, said)
        times = counted(sum(one.looked for one in training), "time")
        return Judgement(True, f"{said} at {call.place}, {times}")

    def is_even(self, call: LossCall) -> bool:
        return bool(call.shape) and call.shape[:1] == call.target_shape[:1]
