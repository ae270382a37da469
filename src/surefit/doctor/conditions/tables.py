"""Every id that a table is asked for has a row in it."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.progress import steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

LOOKUP = Watchpoint(Place("torch.nn.functional.embedding"), ("input", "weight"))


@dataclass(frozen=True, slots=True)
class IdsFit:
    """No table is asked for a row that it lacks, from the fault on, by whatever model or library.

    Ids that had no row arrive as they are, where `arrive` says so.
    """

    width: int
    """Of the rows of the table that lacked some; 0: it is not known."""
    rows: int
    """That it had."""
    becomes: int | None = None
    """Rows that it has with the fix, where these are known; None: as many or more."""
    arrive: int | None = None
    """The least id that lacked a row and must come to a table as it is; None: it is replaced."""
    changes_the_past: bool = False
    at: int | None = None
    """Optimizer steps before the fault; None: as many as there were."""

    @property
    def watchpoint(self) -> Watchpoint:
        return LOOKUP

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=self.changes_the_past, watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before) if self.at is None else self.at
        lookups = [one for one in map(lookup, come(after, at)) if one is not None]
        outside = [one for one in lookups if not one.fits]
        if outside:
            return Judgement(False, f"ids {outside[0].said}")
        ours = [one for one in lookups if self.width in (0, one.width) and self.is_it(one.rows)]
        if not ours:
            said = "the patched run did not look up any id in this table"
            return Judgement(False, said, bool(lookups))
        greatest = max(ours, key=lambda one: one.greatest)
        if self.arrive is not None and greatest.greatest < self.arrive:
            said = f"no id above {greatest.greatest:,} arrives; {self.arrive:,} lacked a row"
            return Judgement(False, said)
        times = counted(len(lookups), "lookup")
        return Judgement(True, f"ids {greatest.said}; in {times} none is outside")

    def is_it(self, rows: int) -> bool:
        return rows >= self.rows if self.becomes is None else rows == self.becomes


@dataclass(frozen=True, slots=True)
class Lookup:
    """One call of a table."""

    least: int
    greatest: int
    rows: int
    width: int

    @property
    def fits(self) -> bool:
        return self.least >= 0 and self.greatest < self.rows

    @property
    def said(self) -> str:
        return f"from {self.least:,} to {self.greatest:,} go to a table of {self.rows:,} rows"


def come(after: Recording, at: int) -> list[Passed]:
    return [one for one in after.all(Passed) if one.watched == LOOKUP and one.step >= at]


def lookup(passed: Passed) -> Lookup | None:
    """None where the ids were not looked at, being too many, or none."""
    values = {value.text: value for value in passed.values}
    ids, weight = values.get("input"), values.get("weight")
    if ids is None or weight is None or not weight.shape or len(weight.shape) != 2:
        return None
    if ids.least is None or ids.greatest is None:
        return None
    return Lookup(int(ids.least), int(ids.greatest), weight.shape[0], weight.shape[1])
