"""A number that was not what an evaluation gave is what it gives."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.reported import Reported, ReportedSeries
from surefit.doctor.recording import Recording
from surefit.doctor.scoring.variants import OVER_BATCHES
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsTheMeasured:
    """Every number under a label, at its position in a line, is given by a right formula."""

    label: str
    position: int
    rights: tuple[str, ...]
    """Names of the formulas that count; none: all."""
    steps: int
    over_rows: bool = False
    """The mean of means of batches of unequal size is not enough."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=False, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        every = [series for entry in after.all(Reported) for series in entry.series]
        found = [entry for entry in every if self.is_of(entry)]
        reports = [report for series in found for report in series.reports]
        if not reports:
            return Judgement(False, f"`{self.label}` was not printed after an evaluation", False)
        wrong = [entry for entry in reports if not self.names(entry.rights)]
        if wrong:
            return Judgement(False, f"`{self.label}` {wrong[0].text} is not what was measured")
        last = reports[-1].text
        count = counted(len(reports), "evaluation")
        return Judgement(True, f"`{self.label}` is what was measured, {last}, in {count}")

    def is_of(self, series: ReportedSeries) -> bool:
        return series.position == self.position and words(series.label) == words(self.label)

    def names(self, rights: tuple[str, ...]) -> bool:
        known = [name for name in rights if not self.over_rows or is_over_rows(name)]
        return any(
            not self.rights or name.removesuffix(OVER_BATCHES) in self.rights for name in known
        )


def is_over_rows(name: str) -> bool:
    """Not a mean over batches, nor one in which a row of many labels weighs as one of few."""
    return OVER_BATCHES not in name and "of rows" not in name


def words(label: str) -> str:
    """Without numbers, which differ from line to line."""
    return "".join(letter for letter in label if not letter.isdigit())
