"""What a divergence compares, and the weight that it has in the loss, in the patched run."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.moved import moved_to
from surefit.doctor.observations import DivergenceSeen
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

STEPS = 3
"""Past the first call."""
BELOW = -1e-4
"""Rounding can make a divergence of zero a little less than that."""
CLOSE = 0.01


@dataclass(frozen=True, slots=True)
class SidesFit:
    """Every call from a line gets logarithms first, and second what it takes the second for."""

    place: Place
    step: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.step + STEPS, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        seen = divergences_at(self.place, before, after)
        if not seen:
            return Judgement(False, f"no divergence was seen at {self.place}", False)
        unfit = next((one for one in seen if not fits(one)), None)
        if unfit is not None:
            sides = [side.kind or "neither" for side in (unfit.given, unfit.target)]
            return Judgement(False, f"it gets {sides[0]} and {sides[1]}")
        least = min(one.per_place for one in seen if one.per_place is not None)
        if not least >= BELOW:
            return Judgement(False, f"the divergence is {least:.3g}, less than 0")
        kinds = f"{seen[0].given.kind} and {seen[0].target.kind}"
        times = counted(len(seen), "call")
        return Judgement(True, f"it gets {kinds}, and is {least:.3g} or more in {times}")


def fits(one: DivergenceSeen) -> bool:
    wanted = "logarithms" if one.log_target else "probabilities"
    return one.given.kind == "logarithms" and one.target.kind == wanted


@dataclass(frozen=True, slots=True)
class DivergenceWeighs:
    """At one step, the mean divergence of a place has this weight in the loss."""

    place: Place
    step: int
    weight: float

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.step + STEPS, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        seen = [one for one in divergences_at(self.place, before, after) if one.step == self.step]
        known = [one.place_weight for one in seen if one.place_weight is not None]
        if not known:
            return Judgement(False, f"no weight of the divergence at {self.place} was seen", False)
        held = all(abs(one / self.weight - 1) < CLOSE for one in known)
        return Judgement(held, f"the divergence of a place counts {known[0]:.4g} times in the loss")


@dataclass(frozen=True, slots=True)
class TermWeighs:
    """At one step, a divergence has this weight in the loss: as what the call gave back, or as the
    mean over its places."""

    place: Place
    step: int
    weight: float

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.step + STEPS, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        seen = [one for one in divergences_at(self.place, before, after) if one.step == self.step]
        known = [
            weight
            for one in seen[:1]
            for weight in (one.weight, one.place_weight)
            if weight is not None
        ]
        if not known:
            return Judgement(False, f"no weight of the divergence at {self.place} was seen", False)
        near = min(known, key=lambda one: abs(one / self.weight - 1))
        held = abs(near / self.weight - 1) < CLOSE
        return Judgement(held, f"the divergence counts {near:.4g} times in the loss")


@dataclass(frozen=True, slots=True)
class PaddingLeftOut:
    """At one step, every real place of a divergence has weight in the loss, and no padded one."""

    place: Place
    step: int
    real: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.step + STEPS, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        seen = [one for one in divergences_at(self.place, before, after) if one.step == self.step]
        if not seen:
            return Judgement(False, f"no divergence was seen at {self.place}", False)
        first = next((one for one in seen if self.is_it(one)), None)
        if first is None:
            return Judgement(False, "what is padding could not be told", False)
        if not first.place_weight:
            return Judgement(False, "no place of the divergence has any weight in the loss")
        if first.places == self.real or first.padding is None:
            return Judgement(True, f"the divergence is over the {self.real:,} real places alone")
        counts, looked = first.padding.counted, first.padding.counted + first.padding.spared
        if not looked:
            return Judgement(False, "no padded place was looked at", False)
        sample = " looked at" if looked < first.padding.padded else ""
        said = f"{counts:,} of {counted(looked, 'padded place')}{sample} count in the loss"
        return Judgement(counts == 0, said)

    def is_it(self, one: DivergenceSeen) -> bool:
        """A step can have several batches: the one with so many real places."""
        padded = one.padding.padded if one.padding is not None else 0
        return one.places - padded == self.real


def divergences_at(place: Place, before: Recording, after: Recording) -> list[DivergenceSeen]:
    """Calls from what a line of the first run has become."""
    lines = moved_to(place, before, after)
    return [
        one
        for steps in final_steps(after)
        for one in steps.divergences
        if one.place is not None and one.place.file == place.file and (one.place.line or 0) in lines
    ]
