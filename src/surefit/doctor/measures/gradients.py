"""Which backward passes went into the gradient of each optimizer step, and what was done to it."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure

Lines = tuple[tuple[Place, int], ...]
"""Lines of the user's, each with how often it was seen; the most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientClip:
    """The last clip that came at a wrong time."""

    bound: float
    scale: float = 1.0
    """By which a gradient scaler had multiplied the gradients."""
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGradients:
    """Gradients at the steps of one optimizer. A *pass* is a backward pass that changed the
    gradient of a sampled parameter."""

    kind: str
    serial: int
    made_at: Place | None
    scale_free: bool
    """Adam and its kin: a gradient that is N times as large makes the same step."""
    steps: int
    looked: int = 0
    """Steps at which the gradient was held against the passes before it."""
    own: int = 0
    """It was the sum of the passes since the step before."""
    carried: int = 0
    """It held passes from before the last step, too."""
    most_passes: int = 0
    """In one such gradient, of the first ones."""
    norm_own: float = 0.0
    norm_used: float = 0.0
    """Where they differ most: of what the passes since the last step gave, and of all of it."""
    carried_by: tuple[str, ...] = ()
    """Sampled parameters whose gradient was carried on."""
    sampled: tuple[str, ...] = ()
    emptied: int = 0
    """Everything that the passes gave was cleared before the step."""
    cut: int = 0
    """A part of it was, though all passes came from one line."""
    again: int = 0
    """No pass came since the last step, whose gradient is used a second time."""
    doubled: int = 0
    """Two of its passes went back from the same loss."""
    by_hand: int = 0
    """It is not what the last pass left, nor a multiple of that: the program computes it."""
    groups: tuple[tuple[int, int], ...] = ()
    """(Passes of a step that come from one line, how many such steps)."""
    fed: int = 0
    """Steps of these for which a loader gave as many batches as there were passes."""
    undivided: int = 0
    """Passes that went back from the mean that a loss function gave, as it came."""
    divided: int = 0
    """From that mean, divided by a number."""
    passes_at: Lines = ()
    stepped_at: Lines = ()
    cleared_at: Lines = ()
    """Calls of `zero_grad`, whether they reached the sampled parameters or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientUse(Measure):
    """Of all optimizers of a process."""

    steps: int
    passes: int
    """All backward passes, also those that were not looked at."""
    cleared: int
    """Calls of `zero_grad`."""
    scaled: bool
    """A gradient scaler is in use."""
    optimizers: tuple[StepGradients, ...] = ()
    clips: int = 0
    """Calls that clip gradients, with a bound that can be met."""
    clipped_scaled: int = 0
    """They were still multiplied by a scaler's factor, and the bound was not."""
    clipped_late: int = 0
    """After the step that used them, where no clip came before it."""
    wrong_clip: GradientClip | None = None
    clipped_spent: int = 0
    """It was given an iterator that was used up before."""
    clipped_none: int = 0
    """It was given no tensor, or none with a gradient."""
    idle_clip: GradientClip | None = None
    """The last clip of these two kinds."""
    epochs: int = 0
    """Of a loader from which passes came."""
    dropped_epochs: int = 0
    """At whose end gradients lay that were cleared, or left, before any step."""
    dropped: int = 0
    """Passes so lost."""
    in_epochs: int = 0
    """Passes of all these epochs."""
    trainer_groups: int = 0
    """`gradient_accumulation_steps` of a Trainer."""
    trainer_at: Place | None = None
    """Where it was created."""
    compute_loss_at: Place | None = None
    """Its `compute_loss`, where that is the user's own."""
    ended: bool = False
    """The process came to its end."""
