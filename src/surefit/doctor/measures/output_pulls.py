"""Where the loss pulls the outputs of a model: its gradient at them, held against the targets."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpulledPart:
    """Parts of an output that have targets and never a gradient, along one axis."""

    axis: int
    size: int
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPull:
    """Of one tensor of targets, over the steps looked at."""

    target: str
    """`1` for the second tensor of a batch, `labels`; the loss function that was given it."""
    kind: str
    """`classes` or `numbers`."""
    shape: tuple[int, ...]
    looked: int
    judged: int
    """Predictions that have a target and a gradient."""
    towards: int
    """Of them, those that a step moves towards their own target."""
    steps_away: int
    """Steps at which all but a hundredth were moved away from it."""
    steps_over_rows: int
    """Steps at which the gradient summed to zero over the rows of each class, as after a softmax
    over the batch, and not over the classes of each row."""
    steps_least: int
    """Steps at which the labelled class was the one that cross entropy wanted least."""
    steps_of_others: dict[str, int]
    """Steps at which predictions were moved towards the targets of other rows: `the next row`."""
    repeats: bool = False
    """The targets were the same at every step, as those of a whole data set are."""
    left_out: tuple[UnpulledPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledOutput:
    """One output of one model."""

    model: str
    output: str
    """Its key or number in what the model gives back; empty where that is a tensor."""
    place: Place | None
    """The user's line that called the model."""
    backward: Place | None
    shape: tuple[int, ...]
    looked: int
    """Steps at which the loss had a gradient at it."""
    step: int
    padding_alone: int = 0
    """Steps at which just the padded positions had a gradient."""
    padded: int = 0
    """Steps at which there were padded positions."""
    targets: tuple[TargetPull, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPulls(Measure):
    """In one process."""

    outputs: tuple[PulledOutput, ...] = ()
