"""Weights that two layers share stay shared."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.parted_ties import PartedTie, PartedTies
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("ties_stay", "weights that layers share stay shared")
PROOF_STEPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TieReplaced(BrokenLaw):
    """A line puts a new parameter in the place of a shared one, in one of its layers."""

    tie: PartedTie


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(PartedTies):
        for tie in measure.parted:
            tied = (Fact("tied at", f"{tie.tied_at}"),) if tie.tied_at is not None else ()
            yield TieReplaced(
                use=line_of(case, tie.place),
                said=f"{code(tie.replaced)} and {code(tie.left)} were one tensor; here the first is"
                " replaced by a new parameter, and the second keeps the old one.",
                facts=(*tied, Fact("replaced at", f"{tie.place}, step {tie.step:,}")),
                steps=tie.step + PROOF_STEPS,
                fault=f"tie replaced {tie.place}",
                tie=tie,
            )


def watched(recording: Recording) -> MeasuredOn:
    tied = sum(measure.tied for measure in recording.all(PartedTies))
    if not tied:
        return MeasuredOn(why_not="no layers share a parameter")
    return MeasuredOn(on=counted(tied, "shared parameter"))
