"""Targets that were computed beforehand belong to the rows that the model is given."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.row_partners import Partners, RowPartners
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("row_partners", "a target that was computed beforehand belongs to the row beside it")

FEWEST_ROWS = 64
FEW = 0.1
MOST = 0.7
"""Shares of rows; some of those in order are not found in the array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsOutOfStep(BrokenLaw):
    """Targets are taken in the order of their array, and inputs in another."""

    partners: Partners


def watched(recording: Recording) -> MeasuredOn:
    every = [known for measure in recording.all(RowPartners) for known in measure.partners]
    if not every:
        return MeasuredOn(why_not="no arrays with the trained rows and rows of targets were seen")
    rows = max(known.rows for known in every)
    return MeasuredOn(on=f"{counted(rows, 'row')} and their targets")


def violations_of(case: Case) -> Iterator[TargetsOutOfStep]:
    for measure in case.recording.all(RowPartners):
        apart = [known for known in measure.partners if is_out_of_step(known)]
        if apart and len(apart) == len(measure.partners):
            yield out_of_step(apart[0], measure)
            return


def is_out_of_step(known: Partners) -> bool:
    """Rows that are paired with others of their batch, or with some at random, can be so on
    purpose."""
    return (
        known.rows >= FEWEST_ROWS
        and known.same <= FEW * known.rows
        and known.within <= FEW * known.rows
        and known.inputs_follow <= FEW * known.follow
        and known.targets_follow >= MOST * known.follow
    )


def out_of_step(known: Partners, measure: RowPartners) -> TargetsOutOfStep:
    return TargetsOutOfStep(
        use=Expression(known.place),
        said=f"Rows are trained on with targets of other rows: {known.same:,} of"
        f" {counted(known.rows, 'row')} of `{known.inputs}` have the target at the same position of"
        f" `{known.targets}`.",
        facts=(
            Fact("own target", f"{known.same:,} of {known.rows:,} rows"),
            Fact(
                "next in the array",
                f"{known.inputs_follow:,} of {known.follow:,} rows of `{known.inputs}`,"
                f" {known.targets_follow:,} of `{known.targets}`",
            ),
        ),
        steps=measure.step + 1,
        fault=f"{LAW.name}: order",
        partners=known,
    )
