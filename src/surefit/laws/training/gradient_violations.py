"""How a step can fail to use its own gradients, once."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.measures.gradients import GradientClip, StepGradients
from surefit.laws.law import BrokenLaw
from surefit.laws.training.accumulation import Accumulation


@dataclass(frozen=True, slots=True, kw_only=True)
class OfStep(BrokenLaw):
    """What is wrong with the gradients that an optimizer steps by."""

    optimizer: StepGradients


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsCarriedOver(OfStep):
    """Steps use gradients that earlier steps have used."""

    cleared: int
    """Calls of `zero_grad` in the run."""


class GradientsClearedBeforeStep(OfStep):
    """Nothing is left of the gradients when the step is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulationCleared(OfStep):
    """Of several backward passes from one line only the last is used."""

    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulationNotAveraged(OfStep):
    """Means of several batches are added up and not divided by their number."""

    group: int
    accumulation: Accumulation


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerLossNotAveraged(BrokenLaw):
    """The same inside a Trainer, whose `compute_loss` is the user's."""

    group: int
    created_at: Place | None
    """Where the Trainer was created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedWhileScaled(BrokenLaw):
    """Gradients are clipped while they are multiplied by a scaler's factor."""

    clip: GradientClip


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedAfterStep(BrokenLaw):
    """Gradients are clipped when the step has been taken."""

    clip: GradientClip
    optimizer: StepGradients


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedNothing(BrokenLaw):
    """Clips get no gradient, while the step has some."""

    clip: GradientClip
    spent: bool
    """They were given an iterator that was used up before."""


class GradientsUsedAgain(OfStep):
    """Steps without a backward pass since the step before."""


class LossUsedTwice(OfStep):
    """One loss goes back twice into one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastGroupDropped(BrokenLaw):
    """Gradients at the end of an epoch are thrown away."""

    optimizer: StepGradients | None
    group: int
