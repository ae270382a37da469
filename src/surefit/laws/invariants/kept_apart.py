"""A loss that only pulls outputs together holds one side of each pair still."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case
from surefit.laws.invariants.loss_terms import losses
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_law import FEWEST_STEPS, expression_at

LAW = Law("kept_apart", "outputs that a loss only pulls together have a side that is held still")
FEWEST_LOOKED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingHeldStill(BrokenLaw):
    """A siamese loss without negatives whose targets get gradients, too."""

    side: int
    """Of the comparison that is the target."""
    terms: int


def violations_of(case: Case) -> Iterator[NothingHeldStill]:
    for loss in losses(case.recording):
        sides = {term.attached_target for term in loss.terms}
        if loss.place is None or loss.looked < FEWEST_LOOKED or len(sides) != 1 or None in sides:
            continue
        shapes = ", ".join(shape_of(term.shape) for term in loss.terms)
        yield NothingHeldStill(
            use=expression_at(case.recording, loss.place),
            said="Every term of the loss pulls two outputs of the same layers together, and both"
            " sides get gradients: one vector for all rows is its best answer",
            facts=(Fact("terms of the loss", f"{len(loss.terms)}, means over {shapes}"),),
            steps=FEWEST_STEPS,
            fault=f"{LAW.name} {loss.place}",
            side=min(side for side in sides if side is not None),
            terms=len(loss.terms),
        )


def watched(recording: Recording) -> MeasuredOn:
    looked = sum(loss.looked for loss in losses(recording))
    if not looked:
        return MeasuredOn(why_not="no loss was seen")
    return MeasuredOn(on=counted(looked, "backward pass"))
