"""That evaluation is prepared as training, and still is on the rows that it was on."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.row_sets import RowSets
from surefit.doctor.recording import Recording
from surefit.laws.law import BrokenLaw
from surefit.laws.runs import LawHolds, law_holds

SHARED = 0.2
"""Share of evaluated rows that may be training rows by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedOnItsOwnRows:
    """The law holds, and no evaluated row has become a training row."""

    law: LawHolds

    def needs(self, before: Recording) -> Needs:
        return self.law.needs(before)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        if shared(after) > shared(before) + SHARED:
            return Judgement(False, "evaluation would be on the rows of training")
        return self.law.judge(before, after)


def shared(recording: Recording) -> float:
    """The largest share of rows that an evaluation has in common with training."""
    rows = [row for measure in recording.all(RowSets) for row in measure.evaluated if row.rows]
    return max((row.equal / row.rows for row in rows), default=0.0)


def prepared_alike(broken: BrokenLaw) -> PreparedOnItsOwnRows:
    return PreparedOnItsOwnRows(law=law_holds(broken, changes_the_past=False))
