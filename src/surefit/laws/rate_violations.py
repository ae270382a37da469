"""How a learning rate can fail to follow a plan that fits the run."""

from dataclasses import dataclass

from surefit.doctor.measures.rates import CheckpointRead, RateCourse, ScheduleSeen
from surefit.laws.law import BrokenLaw, Law

LAW = Law("learning_rate", "the learning rate follows a plan that fits the run")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateVanishes(BrokenLaw):
    """For most of the run the rate is practically zero."""

    course: RateCourse
    schedule: ScheduleSeen | None
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTooFast(BrokenLaw):
    """It counts batches, and its lengths are in epochs."""

    course: RateCourse
    schedule: ScheduleSeen
    epochs: int
    length: tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTooSlow(BrokenLaw):
    """It counts epochs, and its lengths are in steps."""

    course: RateCourse
    schedule: ScheduleSeen
    epochs: int
    length: tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupNeverEnds(BrokenLaw):
    """The rate rises to the end of the run and stays far below what it was to reach."""

    course: RateCourse
    schedule: ScheduleSeen | None
    length: tuple[str, int] | None
    """Name and number of the warm-up, where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRisesAgain(BrokenLaw):
    """A cosine goes on after its end, where it rises."""

    course: RateCourse
    schedule: ScheduleSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerNeverStepped(BrokenLaw):
    """A scheduler is created, and its `step` is never called."""

    course: RateCourse
    schedule: ScheduleSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOfAnotherOptimizer(BrokenLaw):
    """It sets the rate of an optimizer that no longer steps."""

    schedule: ScheduleSeen
    stepping: RateCourse
    """The optimizer that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStartsOver(BrokenLaw):
    """Training goes on from a checkpoint, without the optimizer's or the scheduler's state."""

    checkpoint: CheckpointRead
    missing: tuple[str, ...]
    """Keys of what was not loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerCreatedAgain(BrokenLaw):
    """The same line creates an optimizer or a scheduler for the same parameters, epoch by epoch."""

    courses: tuple[RateCourse, ...]
    schedule: ScheduleSeen | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorIsRate(BrokenLaw):
    """A function that is to give a factor gives the rate itself, so that rates are squared."""

    course: RateCourse
    schedule: ScheduleSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateauBackwards(BrokenLaw):
    """A scheduler that waits for a metric takes better for worse."""

    schedule: ScheduleSeen
    lower_is_better: bool
