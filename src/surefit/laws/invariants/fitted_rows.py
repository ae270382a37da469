"""What inputs are scaled by is computed from training rows alone."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.fitted_rows import FittedRows, ScaledColumns
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import has_folds
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("fitted_rows", "what inputs are scaled by is computed from training rows alone")

MOST_COLUMNS = 0.5
"""Share of the columns that can have been scaled."""
RANGES = 2
"""Columns whose range can be 0 to 1 without having been scaled are fewer."""
SEVERAL = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledByAllRows(BrokenLaw):
    """Mean and deviation, or the range, are those of training and evaluation rows together."""

    scaled: ScaledColumns


def violations_of(case: Case) -> Iterator[ScaledByAllRows]:
    for measure in case.recording.all(FittedRows):
        if measure.place is None or measure.process.role == "worker":
            continue
        for scaled in measure.scaled:
            if is_of_all_rows(scaled) and not has_folds(case.recording):
                yield of_all_rows(scaled, measure)
                return


def is_of_all_rows(scaled: ScaledColumns) -> bool:
    enough = RANGES if scaled.way == SEVERAL else 1
    lost = scaled.exact - scaled.exact_in_training
    return (
        scaled.exact >= max(enough, MOST_COLUMNS * scaled.columns)
        and lost >= enough
        and 2 * lost >= scaled.exact
    )


def of_all_rows(scaled: ScaledColumns, measure: FittedRows) -> ScaledByAllRows:
    others = scaled.rows - scaled.trained_rows
    assert measure.place is not None
    if scaled.way == SEVERAL:
        whole = "0 to 1"
        own = f"{scaled.least:.4f} to {scaled.greatest:.4f}"
    else:
        whole, own = "0 and 1", f"{scaled.mean:.4f} and {scaled.spread:.4f}"
    return ScaledByAllRows(
        use=Expression(measure.place),
        said=f"Inputs are scaled by the {scaled.way} of {counted(scaled.rows, 'row')}, and only"
        f" {scaled.trained_rows:,} of them are trained on: {others:,} are not.",
        facts=(
            Fact(f"{scaled.way}, all rows", f"{whole} in {counted(scaled.exact, 'column')}"),
            Fact(f"{scaled.way}, training rows", f"{own} in one of them ({code(scaled.trained)})"),
        ),
        steps=measure.step + 1,
        fault=f"{LAW.name}: {scaled.trained}",
        scaled=scaled,
    )


def watched(recording: Recording) -> MeasuredOn:
    looked = [measure for measure in recording.all(FittedRows) if measure.rows]
    if not looked:
        return MeasuredOn(why_not="no array with the training rows alone was found")
    return MeasuredOn(on=f"{counted(looked[0].rows, 'training row')} and those of an evaluation")
