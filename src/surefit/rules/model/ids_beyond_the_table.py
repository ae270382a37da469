"""Ids of users, items, words or categories are larger than their embedding table has rows.

## What happens
A table of n rows holds the ids 0 to n - 1. Ids that are counted from 1, ids with gaps (so that
there are fewer of them than the greatest one says), and special ids that were put behind the others
and not counted all lead past its end. PyTorch says `index out of range in self` and names neither
the table nor the id.

## Why it matters
Only the batch that contains the largest ids fails, and each epoch finds it at another place.

## What to do
For ids that count from 1: a table of one row more, or subtract 1 where they are read. For ids with
gaps: re-index them (`pandas.factorize`), or as many rows as the greatest id plus 1.

## How it is recognised
A lookup failed, ids lie at or above the number of rows and none is negative, and they are neither
positions, token types, padding, nor tokens of a tokenizer of this run.

In a script that is only read: numbers that the source draws or writes out are looked up in a table
that has too few rows for them.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted
from surefit.evidence.set_sizes import chosen, place_of, step_back
from surefit.evidence.table_lookups import Lookup, are_plain, facts, lookup_of
from surefit.evidence.table_makers import (
    Maker,
    maker_of,
    more,
    outputs_like,
    shares_its_rows,
)
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import kind_of_lookup
from surefit.interpreter.violations import IndexOutsideTable
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF343",
    "ids-beyond-the-table",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"index out of range in self|device-side assert",
            "whether ids count from 1 or have gaps, so that the greatest is no row of the table",
            r"functional\.py:embedding",
        ),
    ),
)

NEAR = 8
"""So far behind the last row lie ids that were counted from 1, or special ones."""
LARGEST = 1_000_000
"""Rows of a table that is still made as long as the greatest id says."""
COUNTS = ("nunique", "unique", "set")

ITS_SIZE = "how many rows a table has, and what its ids are, only you can choose"


@RULE.on(Crash)
def ids_have_no_row(crash: Crash, seen: Recording) -> Iterator[Finding]:
    lookup = lookup_of(crash, seen)
    if lookup is None or not are_plain(crash, lookup):
        return
    maker = maker_of(lookup, seen)
    size = chosen(maker.source, maker.rows) if maker else None
    grown = grown_to(crash, lookup, size)
    place = where(crash, lookup, maker, size if grown is None else None)
    if grown is not None and maker is not None and size is not None:
        place = place_of(maker.source, size)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(lookup),
        facts=(*facts(lookup), *rows_from(maker, size)),
        why=why(lookup, size) if grown is None else why_grown(lookup, size, grown),
        fixes=tuple(fixes(lookup, maker, size, grown)),
        python_said=crash.said,
        about=crash.id,
    )


def where(crash: Crash, lookup: Lookup, maker: Maker | None, size: ast.expr | None) -> Place | None:
    """Where the ids were counted, if the source shows it; otherwise where the table is made."""
    if maker is not None and size is not None and is_counted_there(maker, size):
        return place_of(maker.source, size)
    if lookup.layer and lookup.layer.made_at:
        return lookup.layer.made_at
    return crash.own_frame.place if crash.own_frame else None


def is_counted_there(maker: Maker, size: ast.expr) -> bool:
    """A length stands for other things than rows, too, unless settings carry it."""
    how = how_counted(size)
    return how is not None and (how != "length" or isinstance(maker.rows, ast.Attribute))


def grown_to(crash: Crash, lookup: Lookup, size: ast.expr | None) -> int | None:
    """How long a collection is now whose length was taken for the rows: it grew afterwards."""
    collection = ast.unparse(size.args[0]) if is_len(size) and isinstance(size, ast.Call) else ""
    lengths = [
        value.length
        for frame in crash.frames
        for value in frame.values
        if frame.own and value.text == collection and value.length is not None
    ]
    longer = [one for one in lengths if one > lookup.outside.greatest]
    return longer[0] if longer else None


def is_len(size: ast.expr | None) -> bool:
    return is_call(size, "len") and isinstance(size, ast.Call) and len(size.args) == 1


def why_grown(lookup: Lookup, size: ast.expr | None, grown: int) -> str:
    collection = ast.unparse(size.args[0]) if isinstance(size, ast.Call) else ""
    return (
        f"`{collection}` had {lookup.rows:,} entries when the table was made, and has {grown:,}"
        " now: it grew afterwards."
    )


def how_counted(size: ast.expr | None) -> str | None:
    """`max` for `ratings.item.max()`, `count` for `ratings.item.nunique()`, `len(set(ids))`,
    `length` for `len(chars)`."""
    node = first(size) if is_call(size, "int") else size
    if is_call(node, "max"):
        return "max"
    if is_call(node, "nunique") or (is_call(node, "len") and is_call(first(node), *COUNTS)):
        return "count"
    return "length" if is_len(node) else None


def is_call(node: ast.expr | None, *names: str) -> bool:
    return isinstance(node, ast.Call) and called(node) in names


def first(node: ast.expr | None) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) and node.args else None


def headline(lookup: Lookup) -> str:
    rows = f"{lookup.table} has {counted(lookup.rows, 'row')}, for the ids 0 to {lookup.rows - 1:,}"
    return f"{rows}, and was given ids up to {lookup.outside.greatest:,}."


def rows_from(maker: Maker | None, size: ast.expr | None) -> Iterator[Fact]:
    if maker is None or size is None or size is maker.rows:
        return
    statement = maker.source.statement_of(size)
    text = " ".join(maker.source.segment(statement).split())
    if not hasattr(statement, "body"):
        yield Fact("its rows are set at", f"{maker.source.file}:{statement.lineno}  {text}")


def behind(lookup: Lookup) -> int:
    """How many rows are missing for the greatest id."""
    return lookup.outside.greatest - lookup.rows + 1


def why(lookup: Lookup, size: ast.expr | None) -> str:
    how, greatest = how_counted(size) if size is not None else None, lookup.outside.greatest
    if how == "max" and greatest == lookup.rows:
        return f"The greatest id, {greatest:,}, is a row, too: with 0 that makes {greatest + 1:,}."
    if how == "count":
        return (
            f"There are {lookup.rows:,} different ids, and the greatest is {greatest:,}: only ids"
            f" that count from 0 without gaps end at {lookup.rows - 1:,}."
        )
    if how == "length" and size is not None:
        return f"`{ast.unparse(size)}` is {lookup.rows:,}, and there are ids beyond that number."
    if behind(lookup) == 1 and lookup.outside.least >= 1:
        return f"Ids that count from 1 end at {lookup.rows:,}; the rows end at {lookup.rows - 1:,}."
    if behind(lookup) == 1:
        return f"The id {greatest:,} was not counted when the table was made."
    return (
        f"A table for the id {greatest:,} needs {greatest + 1:,} rows, however few ids there are."
    )


def fixes(
    lookup: Lookup, maker: Maker | None, size: ast.expr | None, grown: int | None
) -> Iterator[Fix]:
    rows = grown or lookup.outside.greatest + 1
    reason = refused(lookup, maker)
    for text, edit in changes(lookup, maker, size, rows) if not reason else ():
        yield Fix(text, edit, why_not_tried=ITS_SIZE)
    if reason:
        yield Fix(
            f"A table of {lookup.outside.greatest + 1:,} rows or more, one for each id.",
            why_not_tried=reason,
        )
    if grown is not None:
        yield Fix(
            "Or make the model behind the line that adds the last entry.",
            why_not_tried="the way above does the same with less change",
        )
    elif behind(lookup) == 1 and lookup.outside.least >= 1:
        yield Fix(
            "Or subtract 1 where the ids are read, if they count from 1.",
            why_not_tried="whether 0 is among the ids, and where else they are used, only you know",
        )
    elif how_counted(size) == "count" or behind(lookup) > NEAR:
        yield Fix(
            "Or re-index the ids, so that they count from 0 without gaps (`pandas.factorize`).",
            why_not_tried="ids that are used elsewhere must be re-indexed there, too",
        )


def refused(lookup: Lookup, maker: Maker | None) -> str:
    """Why no row is added, if none is."""
    if maker is None:
        return "the call that made the table was not found in your source"
    if shares_its_rows(maker):
        return "the table's weights are used for something else, too"
    counts = how_counted(chosen(maker.source, maker.rows)) == "count"
    if behind(lookup) > NEAR and not (counts and lookup.outside.greatest < LARGEST):
        return "whether all ids up to the greatest one shall have a row only you know"
    return ""


def changes(
    lookup: Lookup, maker: Maker | None, size: ast.expr | None, rows: int
) -> Iterator[tuple[str, Edit]]:
    """More rows; where outputs are counted by the same words, a second time with these."""
    if maker is None or size is None:
        return
    greatest = what_is_counted(maker.source, size) if how_counted(size) == "count" else None
    if greatest is not None:
        new = f"int({greatest}) + 1"
        yield f"As many rows as the greatest id says: `{new}`.", replaced(maker.source, size, new)
        return
    given = step_back(maker.source, maker.rows) if is_argument(maker) else None
    if how_counted(size) == "length" and is_counted_there(maker, size):
        given = size
    node = given if given is not None else maker.rows
    new = more(node, maker.source.segment(node), rows - lookup.rows)
    edit = replaced(maker.source, node, new)
    words = "" if new.isdigit() else f": `{new}`"
    yield f"A table of {counted(rows, 'row')}{words}. No id changes.", edit
    for one in outputs_like(maker) if node is maker.rows else ():
        edit = both(edit, replaced(maker.source, one, new))
    if len(edit.changes) > 1:
        yield f"If these ids are predicted, too: as many outputs, `{new}`.", edit


def is_argument(maker: Maker) -> bool:
    bound = maker.source.bound_by(maker.rows) if isinstance(maker.rows, ast.Name) else []
    return len(bound) == 1 and isinstance(bound[0], ast.arg)


def what_is_counted(source: Source, size: ast.expr) -> str | None:
    """The greatest of what `X.nunique()`, `len(X.unique())`, `len(set(X))` count, as text."""
    node = first(size) if is_call(size, "int") else size
    node = first(node) if is_call(node, "len") else node
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and not node.args:
        return f"{source.segment(node.func.value)}.max()"
    inner = first(node)
    return f"max({source.segment(inner)})" if inner is not None else None


@RULE.on(Script)
def ids_in_the_source_have_no_row(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, IndexOutsideTable):
        rows = one.layer.number("num_embeddings") or 0
        if kind_of_lookup(one) != "ids":
            continue
        name = wording.layer_name(source, one.node, one.layer)
        yield RULE.finding(
            wording.place_of(source, one.layer.node),
            f"{name} has {rows} rows, for the ids 0 to {rows - 1}, and is given ids up to"
            f" {one.id}.",
            facts=(
                wording.layer_fact(source, name, one.layer),
                Fact("looked up at", wording.line_at(source, one.node)),
            ),
            fixes=(
                Fix(
                    f"Give the table {one.id + 1} rows, or count the ids from 0.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
