"""Rows of a source, checked as they are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from surefit.did_you_mean import nearest
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if

from .bad_rows import BadRow, BadRows
from .raw import RawRow
from .row import Row
from .row_store import ROWS_AT_ONCE, RowWriter
from .sources import Source, open_source
from .tool_calls import tools_of
from .turns import MISSING_COLUMN, Fields, Kind, Role, Turn, kind_of, turns_of

__all__ = ["Fields", "Kind", "Role", "Row", "RowSet", "Turn", "read_rows"]

TOO_FEW_ROWS = refusal(
    "SF130",
    "too-few-rows",
    "Training needs at least one row, and validation another that training never sees.",
)
TOO_LONG = refusal(
    "SF138",
    "row-too-long",
    "A row is tokenized in one piece, which takes minutes for a text that no model can hold.",
)

FEWEST = 2
MOST_CHARACTERS = 1_000_000
MOST_TURNS = 10_000
MOST_WITHOUT_KIND = 10_000
"""So many rows are kept while the first that has a kind is looked for; then all are read again."""

DEFAULT_FIELDS = Fields()
WITH_TOOLS = ("messages", "prompt-messages")
OTHER_NAMES = {
    "input": ("prompt", "question", "instruction", "query", "source", "text"),
    "target": ("completion", "answer", "response", "output", "label", "summary"),
}
"""What others call these columns; only ever suggested, never taken unasked."""


@dataclass(frozen=True, slots=True)
class RowSet:
    """The usable rows of one source, in its order, and what was wrong with the others."""

    source: str
    kind: Kind
    rows: Sequence[Row]
    """Made from their bytes whenever they are asked for."""

    bad: tuple[Finding, ...]
    skipped: int
    """How many rows were left out; a finding of `bad` groups several of them."""

    notes: tuple[str, ...] = ()
    """What was chosen on the way to the rows, such as one split of several."""


def read_rows(
    source: str,
    fields: Fields = DEFAULT_FIELDS,
    *,
    skip_bad_rows: bool = False,
    store: Path | None = None,
    each: Callable[[int], object] = lambda _: None,
) -> RowSet:
    """Refuses a source with bad rows, naming them all, unless told to go on without them.

    The rows go to a file at `store`, or into memory if there is none. `each` is told how many
    were read since it was last called.
    """
    opened = open_source(source)
    kind, raw_rows = _kind(opened, fields, source)
    bad = BadRows()
    with RowWriter(store) as writer:
        number = good = 0
        for number, raw in enumerate(raw_rows, start=1):
            row = _row(raw, number - 1, kind, fields)
            if isinstance(row, BadRow):
                bad.add(row)
            elif skip_bad_rows or not len(bad):
                writer.add(row)
                good += 1
            if number % ROWS_AT_ONCE == 0:
                each(ROWS_AT_ONCE)
        each(number % ROWS_AT_ONCE)
        findings = bad.findings(number)
        if not skip_bad_rows:
            refuse_if(findings)
        if good < FEWEST:
            raise BadInput(_too_few(opened.name, good, len(bad)), *findings)
        return RowSet(opened.name, kind, writer.finish(), findings, len(bad), opened.notes)


def _kind(opened: Source, fields: Fields, source: str) -> tuple[Kind, Iterator[RawRow | BadRow]]:
    """The kind of the first row that has one, and all rows again."""
    rows = opened.rows
    seen: list[RawRow | BadRow] = []
    first: RawRow | None = None
    bad = BadRows()
    total = 0
    for total, row in enumerate(rows, start=1):
        if total <= MOST_WITHOUT_KIND:
            seen.append(row)
        if isinstance(row, BadRow):
            bad.add(row)
        elif kind := kind_of(row.values, fields):
            again = chain(seen, rows) if total <= MOST_WITHOUT_KIND else open_source(source).rows
            return kind, again
        else:
            first = first or row
    if first is None:
        raise BadInput(*bad.findings(total), _too_few(opened.name, 0, total))
    raise BadInput(_no_kind(first, fields), *bad.findings(total))


def _row(raw: RawRow | BadRow, number: int, kind: Kind, fields: Fields) -> Row | BadRow:
    if isinstance(raw, BadRow):
        return raw
    turns = turns_of(raw, kind, fields)
    if isinstance(turns, BadRow):
        return turns
    characters = sum(len(turn.text) for turn in turns)
    if characters > MOST_CHARACTERS or len(turns) > MOST_TURNS:
        return _too_long(raw.place, characters, len(turns))
    tools = tools_of(raw) if kind in WITH_TOOLS else ""
    return tools if isinstance(tools, BadRow) else Row(number, raw.place, turns, tools)


def _too_long(place: Place, characters: int, turns: int) -> BadRow:
    said = f"{characters:,} characters in {turns:,} turns"
    return BadRow(
        place,
        TOO_LONG,
        f"There are more than {MOST_CHARACTERS:,} characters or {MOST_TURNS:,} turns",
        facts=(Fact("the row", said),),
        fixes=(Fix("Make several rows of it."),),
    )


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
        if fields.chosen
        else "They are not the columns of `messages`, `conversations`, `prompt` and `completion` "
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
