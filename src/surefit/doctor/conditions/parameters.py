"""Parameters have gradients, and steps change them."""

from collections.abc import Iterable
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import ParameterSeen, Steps
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, some

USUAL_STEPS = 10


@dataclass(frozen=True, slots=True)
class Moves:
    """An optimizer holds these parameters, and its steps change them."""

    names: tuple[str, ...]
    share: float = 0.5
    """Of the elements that have a gradient, at least so many change."""
    changes_the_past: bool = False
    steps: int | None = None

    def steps_needed(self, before: Recording) -> int | None:
        """Beyond the steps of optimizers that had done their work before these were made."""
        earlier = max((steps_of_earlier(self.names, one) for one in final_steps(before)), default=0)
        return (self.steps or USUAL_STEPS) + earlier if earlier else self.steps

    def needs(self, before: Recording) -> Needs:
        return Needs(steps=self.steps_needed(before), changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        held = [one for one in parameters(after) if one.held_by is not None]
        outside = {one.name for steps in final_steps(after) for one in steps.outside}
        inside = {one.name for one in held} - outside
        missing = [name for name in self.names if name not in inside]
        if missing or not self.names:
            return Judgement(False, f"no optimizer holds {some(missing)}")
        ours = [one for one in held if one.name in self.names]
        still = [one.name for one in ours if one.sampled == 0 or self.stands_still(one)]
        sampled, moved = sum_of(ours)
        said = f"{moved:,} of {counted(sampled, 'element')} with a gradient moved"
        if still:
            return Judgement(False, f"{some(still)} stands still; {said}")
        return Judgement(True, f"an optimizer holds {some(self.names)}: {said}")

    def stands_still(self, one: ParameterSeen) -> bool:
        return one.sampled - one.unchanged < self.share * one.sampled


@dataclass(frozen=True, slots=True)
class GradientsFlow:
    """Where every gradient was exactly zero, some are not, at every step, and all are finite."""

    names: tuple[str, ...] = ()
    """Only these parameters; without any, all that an optimizer holds."""
    changes_the_past: bool = False
    steps: int | None = None
    optimizer: int | None = None
    """Only of this one, counted as they were created: parts of two models can have one name."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        alive = [one.name for one in self.ours(before) if one.absent + one.zero < one.looked]
        if alive:
            return Judgement(False, f"{some(alive)} had a gradient in the first run too")
        ours = self.ours(after)
        if not ours:
            return Judgement(False, "no gradient of a parameter was looked at", False)
        bad = [one.name for one in ours if one.not_finite]
        if bad:
            return Judgement(False, f"the gradient of {some(bad)} is not finite")
        flowing = [one for one in ours if one.absent + one.zero == 0]
        steps = counted(max(one.looked for one in ours), "step")
        said = f"{len(flowing):,} of {counted(len(ours), 'parameter')} have a gradient other than"
        return Judgement(bool(flowing), f"{said} zero at each of {steps}; before, none had")

    def ours(self, seen: Recording) -> list[ParameterSeen]:
        return [
            one
            for steps in final_steps(seen)
            for one in steps.parameters
            if one.looked
            and (one.name in self.names if self.names else one.held_by is not None)
            and (self.optimizer is None or one.held_by == serial_of(steps, self.optimizer))
        ]


@dataclass(frozen=True, slots=True)
class NoUpdatesLost:
    """Fewer than this share of the elements that have a gradient stay as they were."""

    share: float
    changes_the_past: bool = False
    steps: int | None = None

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sampled, moved = sum_of(parameters(after))
        if not sampled:
            return Judgement(False, "no element with a gradient was seen at a step", False)
        lost = sampled - moved
        figures = f"{lost:,} of {counted(sampled, 'update')} are lost to rounding"
        return Judgement(
            lost < self.share * sampled,
            f"{figures}, {lost / sampled:.1%}; less than {self.share:.1%} is wanted",
        )


def serial_of(steps: Steps, number: int) -> int | None:
    serials = sorted(known.serial for known in steps.optimizers)
    return serials[number] if number < len(serials) else None


def parameters(seen: Recording) -> list[ParameterSeen]:
    return [one for steps in final_steps(seen) for one in steps.parameters]


def steps_of_earlier(names: Iterable[str], steps: Steps) -> int:
    """Steps taken by optimizers of an earlier stage: all that were made before parameters that
    none holds, but for the one that was made last and should have held them."""
    wanted = set(names)
    made = min((one.serial for one in steps.outside if one.name in wanted), default=0)
    before = [one for one in steps.optimizers if one.steps and one.serial < made]
    if before and all(one.serial < made for one in steps.optimizers if one.steps):
        before.remove(max(before, key=lambda one: one.serial))
    return sum(one.steps for one in before)


def sum_of(seen: Iterable[ParameterSeen]) -> tuple[int, int]:
    """Elements with a gradient, and how many of these changed."""
    every = list(seen)
    sampled = sum(one.sampled for one in every)
    return sampled, sampled - sum(one.unchanged for one in every)
