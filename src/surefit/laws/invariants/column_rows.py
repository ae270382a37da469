"""The values of a column are put beside the rows that they belong to."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.column_rows import AlignedColumn, ColumnRows
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("column_rows", "the values of a column are put beside the rows that they belong to")

MOVED = 0.1
"""Share of rows that get the value of another position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOfOtherRows(BrokenLaw):
    """pandas aligned two indices, of which just one was numbered again."""

    column: AlignedColumn


def watched(recording: Recording) -> MeasuredOn:
    columns = sum(measure.columns for measure in recording.all(ColumnRows))
    if not columns:
        return MeasuredOn(why_not="no column was put into a data frame before training")
    return MeasuredOn(on=f"{counted(columns, 'column')} put into data frames")


def violations_of(case: Case) -> Iterator[ColumnOfOtherRows]:
    for measure in case.recording.all(ColumnRows):
        for column in measure.aligned:
            if column.lost and column.moved >= MOVED * column.rows:
                yield of_other_rows(column)
                return


def of_other_rows(column: AlignedColumn) -> ColumnOfOtherRows:
    return ColumnOfOtherRows(
        use=Expression(column.stack[0]),
        said=f"A column of {column.rows:,} values is put into a data frame of as many rows, and"
        f" {column.moved:,} rows get the value of another row.",
        facts=(
            Fact("value of another row", f"{column.moved:,} of {column.rows:,} rows"),
            Fact("no value (NaN)", f"{column.lost:,} of {column.rows:,} rows"),
        ),
        steps=1,
        fault=f"{LAW.name}: index",
        column=column,
    )
