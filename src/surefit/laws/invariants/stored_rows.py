"""What a dataset stores does not change while it is read."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.stored_rows import FetchedRows, StoredChange
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("stored_rows", "what a dataset stores does not change while it is read")

FEWEST_ROWS = 2
MOST = 0.5
"""Share of the watched rows that later fetches must have changed again: what is computed once and
stored is changed once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRowsChange(BrokenLaw):
    """Fetching a row writes into the array that it is stored in."""

    change: StoredChange


def watched(recording: Recording) -> MeasuredOn:
    rows = sum(measure.rows for measure in recording.all(FetchedRows))
    if not rows:
        return MeasuredOn(why_not="no rows were fetched from a dataset by a loader")
    return MeasuredOn(on=f"{counted(rows, 'row')} before and after they were fetched")


def violations_of(case: Case) -> Iterator[StoredRowsChange]:
    for measure in case.recording.all(FetchedRows):
        for change in measure.changes:
            if change.again >= max(FEWEST_ROWS, MOST * change.rows):
                yield broken(change)
                return


def broken(change: StoredChange) -> StoredRowsChange:
    return StoredRowsChange(
        use=Expression(change.place or Place("the script")),
        said=f"Fetching rows of `{change.dataset}` changes what it stores: {change.again:,} of"
        f" {counted(change.rows, 'row')} of `{change.attribute}` were changed in place, and again"
        " in a later epoch.",
        facts=(
            Fact(
                f"stored rows of `{change.attribute}`",
                f"mean {number(change.mean_before)}, std {number(change.std_before)} before the"
                " first fetch",
            ),
            Fact(
                f"after {counted(change.times, 'change')}",
                f"mean {number(change.mean_after)}, std {number(change.std_after)}",
            ),
        ),
        steps=change.step,
        fault=f"{LAW.name}: {change.dataset}",
        certain=change.returned,
        change=change,
    )


def number(value: float) -> str:
    return f"{value:.4g}"
