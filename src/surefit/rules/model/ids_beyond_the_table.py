"""Ids of users, items, words or categories are larger than their embedding table has rows.

## What happens
A table of n rows holds the ids 0 to n - 1. Ids that are counted from 1, ids with gaps, and special
ids that follow the others and were not counted lead past its end. PyTorch says `index out of range
in self` and names neither the table nor the id.

## Why it matters
Only the batch that contains the largest ids fails, and in each epoch that is another one.

## What to do
For ids that count from 1: a table of one row more, or subtract 1 where they are read. For ids with
gaps: re-index them (`pandas.factorize`), or as many rows as the greatest id plus 1.

## How it is recognised
A lookup failed, ids lie at or above the number of rows and none is negative, and they are neither
positions, token types, padding, nor tokens of a tokenizer of this run. A second run shows where the
number of rows was written or computed, and where the ids come from.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.tables import ItemsOutside
from surefit.laws.layers.table_rows import TableRows, rows_of
from surefit.laws.values.written_numbers import VOCABULARY, written_in_model
from surefit.lineage.producers import Producer
from surefit.lineage.properties import holds_at_least, of_several
from surefit.remedies.enlarge import Enlarge, more
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.shift import Shift
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"index out of range in self|device-side assert",
    "whether ids count from 1 or have gaps, so that the greatest is no row of the table",
    r"functional\.py:embedding",
)
RULE = Rule("SF343", "ids-beyond-the-table", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

NEAR = 8
"""So many rows are missing for ids that were counted from 1, or for special ones."""
LARGEST = 1_000_000
"""Rows of a table that is still given one for every id up to the greatest."""

DIFFERENT = ("nunique", "unique", "set")


@RULE.on(ItemsOutside)
def ids_have_no_row(broken: ItemsOutside, case: Case) -> Finding:
    rows = rows_of(case, broken.layer, broken.rows)
    how = how_counted(case.node(rows.birth)) if rows else ""
    size: Written | None = rows.birth if rows else broken.size
    size = size or written_in_model(case, broken.rows, VOCABULARY)
    now = length_now(rows, broken.greatest) if rows else None
    birth = case.lineage(broken.ids).birth(of=of_several(holds_at_least(broken.rows)))
    place: Written = size or broken.use
    if rows is not None:
        shared = not how and rows.birth is not rows.handed_in(case)
        place = rows.call if shared or (how == "length" and now is None) else rows.birth
    return case.finding(
        place.place,
        f"{broken.table} has {counted(broken.rows, 'row')}, for the ids 0 to {broken.rows - 1:,},"
        f" and was given ids up to {broken.greatest:,}.",
        facts=(
            *broken.facts(),
            *fact_at("its rows are set at", size if size is not place else None),
            *fact_at("ids from", birth),
        ),
        why=why(broken, how, rows, now),
        remedies=remedies(broken, case, rows, size, now or broken.greatest + 1, birth),
    )


def why(broken: ItemsOutside, how: str, rows: TableRows | None, now: int | None) -> str:
    greatest, count, last = f"{broken.greatest:,}", f"{broken.rows:,}", f"{broken.rows - 1:,}"
    if now is not None and rows is not None:
        text = code(rows.birth.text)
        return f"{text} was {count} when the table was created, and is {now:,} now."
    if how == "count":
        return (
            f"There are {count} different ids, and the greatest is {greatest}: only ids that count"
            f" from 0 without gaps end at {last}."
        )
    if broken.missing == 1 and broken.least >= 1 and how != "max":
        return f"Ids that count from 1 end at {count}; the rows end at {last}."
    return f"A table for the id {greatest} needs {broken.greatest + 1:,} rows, with that for 0."


def remedies(
    broken: ItemsOutside,
    case: Case,
    rows: TableRows | None,
    size: Written | None,
    needed: int,
    birth: Producer | None,
) -> Iterator[Remedy | Fix]:
    how = how_counted(case.node(rows.birth)) if rows else ""
    greatest = greatest_of(case, rows.birth) if rows and how == "count" else ""
    by = needed - broken.rows
    if greatest and rows is not None:
        text, must = f"{greatest} + 1", broken.holds(None, broken.rows, past=True)
        words = f"As many rows as the greatest id says: {code(text)}."
        yield ReplaceWith(at=rows.birth, text=text, words=words, must=must, choice=True)
    elif size is not None and (broken.missing <= NEAR or needed <= LARGEST):
        must = broken.holds(needed, broken.rows, past=True)
        for site in (rows.argument, rows.handed_in(case)) if rows else (size,):
            node = case.node(site)
            text = more(node, site.text, by) if node is not None else ""
            shown = f" at {site.place}" if text.isdigit() else f": {code(text)}"
            words = f"A table of {counted(needed, 'row')}{shown}. No id changes."
            yield Enlarge(at=site, by=by, words=words, must=must)
    if broken.missing == 1 and broken.least >= 1 and birth and not is_one_of_several(birth, case):
        must = broken.holds(broken.rows, broken.rows - 1, past=True)
        yield Shift(at=birth, by=" - 1", value=birth.value, must=must, choice=True)
    elif how == "count" or broken.missing > NEAR:
        yield Fix(
            "Re-index the ids, so that they count from 0 without gaps (`pandas.factorize`), here"
            " and wherever else they are used.",
            choice=True,
        )


def is_one_of_several(birth: Producer, case: Case) -> bool:
    """A list inside another one: the other lists would keep their ids."""
    node, source = case.node(birth), case.source(birth.place)
    parent = source.parents.get(node) if source is not None and node is not None else None
    return isinstance(parent, ast.List | ast.Tuple | ast.Dict)


def how_counted(node: ast.expr | None) -> str:
    """`max` for `int(ratings.item.max())`, `count` for `ratings.item.nunique()` and
    `len(set(ids))`, `length` for `len(chars)`; empty for anything else."""
    node = first(node) if is_call(node, "int") else node
    if is_call(node, "max"):
        return "max"
    if is_call(node, "nunique") or (is_call(node, "len") and is_call(first(node), *DIFFERENT)):
        return "count"
    return "length" if is_call(node, "len") else ""


def greatest_of(case: Case, counted: Producer) -> str:
    """The greatest of what `X.nunique()`, `len(X.unique())`, `len(set(X))` count, as text."""
    node, source = case.node(counted), case.source(counted.place)
    node = first(node) if is_call(node, "int") else node
    node = first(node) if is_call(node, "len") else node
    if source is None or not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute) and not node.args:
        return f"int({source.segment(node.func.value)}.max())"
    inner = first(node)
    return f"int(max({source.segment(inner)}))" if inner is not None else ""


def length_now(rows: TableRows, greatest: int) -> int | None:
    """How long a collection is at the crash whose length was taken for the rows: it grew."""
    lengths = [
        producer.value.length
        for _, producer in rows.of(rows.birth).inputs(rows.birth)
        if producer.value.length is not None and rows.birth.name == "len"
    ]
    return next((length for length in lengths if length > greatest), None)


def is_call(node: ast.expr | None, *names: str) -> bool:
    return isinstance(node, ast.Call) and called(node) in names


def first(node: ast.expr | None) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) and node.args else None
