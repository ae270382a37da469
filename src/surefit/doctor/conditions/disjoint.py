"""Evaluation on rows of its own, by content."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.row_sets import RowSets
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

MOST = 0.05
"""Share of rows that real data have in both sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfItsOwn:
    """Evaluated rows are no training rows, nor copies of them."""

    steps: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002 - as every condition
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        looked = [row for measure in after.all(RowSets) for row in measure.evaluated if row.rows]
        if not looked:
            return Judgement(False, "no evaluation after training was seen", decided=False)
        rows = sum(row.rows for row in looked)
        equal = sum(row.equal + row.rearranged for row in looked)
        near, near_looked = sum(row.near for row in looked), sum(row.near_looked for row in looked)
        said = f"{equal:,} of {counted(rows, 'evaluated row')} are training rows"
        if near_looked:
            said += f", {near:,} of {near_looked:,} are near copies"
        apart = equal <= MOST * rows and near <= 4 * MOST * near_looked
        return Judgement(apart, said)
