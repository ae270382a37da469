"""Parameters have the gradients that they had, at every step."""

from dataclasses import dataclass
from math import isclose

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.conditions.parameters import parameters
from surefit.doctor.observations import ParameterSeen
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, some

ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class GradientsStay:
    """Whatever an optimizer holds gets a gradient at every step, but for what had none in the first
    run at all the steps that were looked at."""

    changes_the_past: bool = False
    excused: tuple[str, ...] = ()
    """Parameters that need have none."""
    together: int = 0
    """Where later losses must change: the first one that `backward` is called on is the sum of so
    many of the first run's."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        ours = {key(one): one for one in parameters(after) if one.looked}
        if not ours:
            return Judgement(False, "no gradient of a parameter was looked at", False)
        had = {key(one): one for one in parameters(before) if one.absent < one.looked}
        missing = [name for name, _ in had.keys() - ours.keys()]
        if missing:
            return Judgement(False, f"no optimizer holds {some(missing)}")
        never = {key(one) for one in parameters(before) if one.looked} - had.keys()
        never |= {at for at in ours if at[0] in self.excused}
        wanted = {at: one for at, one in ours.items() if at not in never}
        without = [one.name for at, one in wanted.items() if is_without(one, had.get(at))]
        if without or not wanted or all(one.zero == one.looked for one in wanted.values()):
            return Judgement(False, f"{some(without or ['the loss'])} has no gradient at some step")
        bad = [one.name for one in ours.values() if one.not_finite]
        if bad:
            return Judgement(False, f"the gradient of {some(bad)} is not finite")
        comparable = self.together > 0 and bool(first_losses(before))  # `grad` alone notes none
        if comparable and not self.is_the_same_loss(before, after):
            return Judgement(False, "the first loss is another than in the first run")
        steps = counted(max(one.looked for one in ours.values()), "step")
        same = "the first loss is equal; " if comparable else ""
        return Judgement(
            True,
            f"{same}{all_of(len(wanted))} that must have a gradient"
            f" {'has' if len(wanted) == 1 else 'have'} one at each of {steps}",
        )

    def is_the_same_loss(self, before: Recording, after: Recording) -> bool:
        old, new = first_losses(before), first_losses(after)
        if len(old) < self.together or not new:
            return False
        return isclose(sum(old[: self.together]), new[0], rel_tol=ROUNDING)


def first_losses(seen: Recording) -> list[float]:
    return [loss for steps in final_steps(seen)[:1] for _, loss in steps.losses]


def key(one: ParameterSeen) -> tuple[str, int]:
    """Modules of one run can have parameters of one name."""
    return one.name, one.root


def is_without(one: ParameterSeen, was: ParameterSeen | None) -> bool:
    """It had a gradient other than zero, or none was seen, and lacks one now."""
    return one.absent > 0 or (was is not None and was.zero < was.looked and one.zero == one.looked)


def all_of(count: int) -> str:
    return "the 1 parameter" if count == 1 else f"all {count:,} parameters"
