"""How a learning rate can fail to follow a plan that fits the run."""

from dataclasses import dataclass

from surefit.doctor.measures.rates import CheckpointRead, RateCourse, ScheduleSeen
from surefit.laws.law import BrokenLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRate(BrokenLaw):
    """What is wrong with the learning rate of one optimizer."""

    course: RateCourse
    schedule: ScheduleSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class RateVanishes(BrokenLaw):
    """For most of the run the rate is practically zero."""

    course: RateCourse
    schedule: ScheduleSeen | None
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTooFast(OfRate):
    """It counts batches, and its lengths are in epochs."""

    epochs: int
    length: tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTooSlow(OfRate):
    """It counts epochs, and its lengths are in steps."""

    epochs: int
    length: tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupNeverEnds(BrokenLaw):
    """The rate rises to the end of the run and stays far below what it was to reach."""

    course: RateCourse
    schedule: ScheduleSeen | None
    length: tuple[str, int] | None
    """Name and number of the warm-up, where it is known."""


class RateRisesAgain(OfRate):
    """A cosine goes on after its end, where it rises."""


class SchedulerNeverStepped(OfRate):
    """A scheduler is created, and its `step` is never called."""


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


class FactorIsRate(OfRate):
    """A function that is to give a factor gives the rate itself, so that rates are squared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateauBackwards(BrokenLaw):
    """A scheduler that waits for a metric takes better for worse."""

    schedule: ScheduleSeen
    lower_is_better: bool
