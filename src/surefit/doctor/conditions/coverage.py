"""Rows that were never trained on are trained on."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.row_use import RowUse
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreRowsUsed:
    """Of the rows that were left out, a good part comes within three of the former epochs."""

    planned: int
    used: int
    steps: int

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        found = [
            use.coverage.used
            for measure in after.all(RowUse)
            for use in measure.loaders
            if use.coverage is not None and use.coverage.planned == self.planned
        ]
        if not found:
            return Judgement(False, "no rows of this loader were trained on", decided=False)
        used = max(found)
        said = f"{used:,} of {self.planned:,} rows are trained on"
        return Judgement(used >= self.used + (self.planned - self.used) // 4, said)
