"""Rows of a source, checked as they are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from surefit.did_you_mean import nearest
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if

from .bad_rows import BadRow, grouped
from .raw import RawRow, RawRows
from .sources import open_source
from .turns import MISSING_COLUMN, Fields, Kind, Role, Turn, kind_of, turns_of

__all__ = ["Fields", "Kind", "Role", "Row", "RowSet", "Turn", "read_rows"]

TOO_FEW_ROWS = refusal(
    "SF130",
    "too-few-rows",
    "Training needs at least one row, and validation another that training never sees.",
)

FEWEST = 2
DEFAULT_FIELDS = Fields()
OTHER_NAMES = {
    "input": ("prompt", "question", "instruction", "query", "source", "text"),
    "target": ("completion", "answer", "response", "output", "label", "summary"),
}
"""What others call these columns; only ever suggested, never taken unasked."""


@dataclass(frozen=True, slots=True)
class Row:
    """One example: turns, the last of them the assistant's."""

    number: int
    """Which row of the source it is, from 0; copies that augmentation makes keep it."""

    place: Place
    turns: tuple[Turn, ...]

    @property
    def input(self) -> str:
        """The text of all turns before the last, a line break between them."""
        return "\n".join(turn.text for turn in self.turns[:-1])

    @property
    def target(self) -> str:
        """The text of the last turn, which is the assistant's."""
        return self.turns[-1].text


@dataclass(frozen=True, slots=True)
class RowSet:
    """The usable rows of one source, in its order, and what was wrong with the others."""

    source: str
    kind: Kind
    rows: tuple[Row, ...]
    bad: tuple[Finding, ...]
    skipped: int
    """How many rows were left out; a finding of `bad` groups several of them."""

    notes: tuple[str, ...] = ()
    """What was chosen on the way to the rows, such as one split of several."""


def read_rows(
    source: str, fields: Fields = DEFAULT_FIELDS, *, skip_bad_rows: bool = False
) -> RowSet:
    """Refuses a source with bad rows, naming them all, unless told to go on without them."""
    opened = open_source(source)
    kind, raw_rows = _kind(opened.rows, fields, source)
    good: list[Row] = []
    bad: list[BadRow] = []
    for number, raw in enumerate(raw_rows):
        row = _row(raw, number, kind, fields)
        bad.append(row) if isinstance(row, BadRow) else good.append(row)
    findings = grouped(bad, len(good) + len(bad))
    if not skip_bad_rows:
        refuse_if(findings)
    if len(good) < FEWEST:
        raise BadInput(_too_few(source, len(good), len(bad)), *findings)
    return RowSet(source, kind, tuple(good), findings, len(bad), opened.notes)


def _kind(rows: RawRows, fields: Fields, source: str) -> tuple[Kind, Iterator[RawRow | BadRow]]:
    """The kind of the first row that has one, and all rows again."""
    seen: list[RawRow | BadRow] = []
    for row in rows:
        seen.append(row)
        kind = kind_of(tuple(row.values), fields) if isinstance(row, RawRow) else None
        if kind:
            return kind, chain(seen, rows)
    first = next((row for row in seen if isinstance(row, RawRow)), None)
    bad = [row for row in seen if isinstance(row, BadRow)]
    if first is None:
        raise BadInput(*grouped(bad, len(bad)), _too_few(source, 0, len(bad)))
    raise BadInput(_no_kind(first, fields), *grouped(bad, len(seen)))


def _row(raw: RawRow | BadRow, number: int, kind: Kind, fields: Fields) -> Row | BadRow:
    if isinstance(raw, BadRow):
        return raw
    turns = turns_of(raw, kind, fields)
    return turns if isinstance(turns, BadRow) else Row(number, raw.place, turns)


def _no_kind(row: RawRow, fields: Fields) -> Finding:
    wanted = {"--input-field": ("input", fields.input), "--target-field": ("target", fields.target)}
    missing = {flag: names for flag, names in wanted.items() if names[1] not in row.values}
    named = " and ".join(f"`{name}`" for _, name in missing.values())
    columns = ", ".join(row.values) or "none"
    return MISSING_COLUMN.finding(
        row.place,
        f"No row has the column{'s' if len(missing) > 1 else ''} {named}.",
        facts=(Fact("columns of the first row", columns),),
        why=""
        if fields != DEFAULT_FIELDS
        else "They are not the columns of `messages`, `conversations` "
        "or Alpaca rows (`instruction`, `output`) either.",
        fixes=tuple(_name_it(flag, *names, row) for flag, names in missing.items()),
    )


def _name_it(flag: str, part: str, name: str, row: RawRow) -> Fix:
    near = nearest(name, row.values) or next(
        (other for other in OTHER_NAMES[part] if other in row.values), None
    )
    does = "holds the prompt" if part == "input" else "holds the answer"
    if near:
        return Fix(f"Take the column `{near}`:  {flag} {near}")
    return Fix(f"Name the column that {does}: `{flag} NAME`.")


def _too_few(source: str, good: int, bad: int) -> Finding:
    usable = "only 1 usable row" if good == 1 else "no usable row"
    return TOO_FEW_ROWS.finding(
        Place(source),
        f"`{source}` has {usable}.",
        facts=(Fact("rows", f"{good + bad} read, {bad} of them bad"),),
        fixes=(Fix(f"Give at least {FEWEST} rows."),),
    )
