"""Rows are left out of a table: those that cannot be used, and no others."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Value, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, spoken


@dataclass(frozen=True, slots=True)
class RowsLeftOut:
    """Between two statements a table loses exactly the rows in which a column has no value."""

    name: str
    columns: tuple[str, ...]
    made: Place
    """The statement that makes the table; `then`: one that comes after the rows have gone."""
    then: Place
    missing: int
    """In the first run, for tables of which that cannot be read."""

    @property
    def first(self) -> Watchpoint:
        return Watchpoint(Place(self.made.file, self.made.line), (self.name,), after=True)

    @property
    def second(self) -> Watchpoint:
        return Watchpoint(Place(self.then.file, self.then.line), (self.name,))

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=True, watchpoints=(self.first, self.second))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        whole, kept = self.seen(after, self.first), self.seen(after, self.second)
        rows, left = rows_in(whole), rows_in(kept)
        if whole is None or kept is None or rows is None or left is None:
            return Judgement(
                False, f"the rows of `{self.name}` were not seen in both places", False
            )
        said = f"{left:,} of {rows:,} rows of `{self.name}` are left"
        gone = [whole.members[one].nones for one in self.columns if one in whole.members]
        fewest, most = (max(gone), sum(gone)) if gone else (self.missing, self.missing)
        still = [one for one in self.columns if one in kept.members and kept.members[one].nones]
        if still:
            return Judgement(False, f"{said}, and {spoken(map(code, still))} is missing in some")
        held = fewest <= rows - left <= most
        with_all = f"all that have {spoken(map(code, self.columns))}"
        return Judgement(held, f"{said}, {with_all}" if held else f"{said}, {fewest:,} had to go")

    def seen(self, after: Recording, watchpoint: Watchpoint) -> Value | None:
        came = [one for one in after.all(Passed) if one.watched == watchpoint]
        return next((value for one in came[:1] for value in one.values), None)


def rows_in(value: Value | None) -> int | None:
    """Of a table, or of all tables in a dictionary."""
    if value is None:
        return None
    inside = [one for one in value.members.values() if one.kind == "Dataset"]
    return sum(one.length or 0 for one in inside) if inside else value.length
