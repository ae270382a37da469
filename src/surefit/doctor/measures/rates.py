"""Learning rates at the steps of a run, what schedules were planned for, and what was resumed."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCourse:
    """The highest rate of an optimizer's groups, step by step."""

    kind: str
    serial: int
    made_at: Place | None
    steps: int
    base: float
    """That it was created with, or that a schedule rises to."""
    highest: float
    last: float
    low: int = 0
    """Steps at a rate below a thousandth of the highest before them."""
    low_from: int = 0
    """The first of them."""
    fallen: int = 0
    """Steps at which it was lower than at the step before."""
    course: tuple[tuple[int, float], ...] = ()
    """(Step of this optimizer, rate): a sample, the first and the last among them."""
    parameters: int = 0
    """Number of its first parameter: optimizers of the same model have the same."""
    keeps_state: bool = False
    """Momentum or averages, which a new optimizer lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateauSeen:
    """What a `ReduceLROnPlateau` waits for, and what it was given."""

    mode: str
    """`min` or `max`."""
    patience: int
    threshold: float
    relative: bool
    """The threshold is a share of the best number."""
    numbers: tuple[float, ...] = ()
    """The first ones, one for each call."""
    reduced: tuple[int, ...] = ()
    """Which of these calls lowered the rate."""
    steps: tuple[int, ...] = ()
    """Optimizer steps before each of these calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSeen:
    """One learning rate scheduler."""

    kind: str
    serial: int
    made_at: Place | None
    optimizer: int
    """Serial of the optimizer whose rate it sets."""
    optimizer_steps: int
    """That this took since the scheduler was created."""
    calls: int = 0
    """Of its `step`, by the program."""
    at: Place | None = None
    """The user's line that calls it."""
    unheard: int = 0
    """Calls before which other optimizers had stepped, and its own had not."""
    plan: tuple[tuple[str, int], ...] = ()
    """Lengths that it was created with: `T_max`, `total_steps`, `num_warmup_steps`."""
    position: int = 0
    """Its `last_epoch`."""
    plateau: PlateauSeen | None = None
    """It waits for a metric, so that it need never change anything."""
    inner: bool = False
    """Another scheduler steps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRead:
    """A file read with `torch.load` that holds more than weights."""

    place: Place | None
    step: int
    """Optimizer steps before it."""
    optimizer_key: str = ""
    """Of the optimizer's state in it."""
    scheduler_key: str = ""
    has_state: bool = False
    """Momentum or averages are in it."""
    rate: float = 0.0
    """Of the optimizer's state in it."""
    model_loaded: bool = False
    optimizer_loaded: bool = False
    scheduler_loaded: bool = False
    rate_after: float = 0.0
    """At the next step."""
    steps_after: int = 0
    optimizer: int = 0
    """Serial of the optimizer that stepped next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRates(Measure):
    """Of all optimizers and schedulers of a process."""

    steps: int
    epochs: int
    """Ends of a loader from which backward passes came."""
    datasets: int = 1
    """That these loaders went through."""
    optimizers: tuple[RateCourse, ...] = ()
    schedules: tuple[ScheduleSeen, ...] = ()
    checkpoints: tuple[CheckpointRead, ...] = ()
    weights_set: int = 0
    """Calls of a model's `load_state_dict`."""
    complete: bool = False
    """The program ran to its own end, or a proof to the step that it was to reach."""
