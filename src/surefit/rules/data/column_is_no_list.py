"""A column of a dataset or a table stands where a list is taken.

## What happens
`dataset["text"]` is a `Column` since version 4 of `datasets`: it reads rows when they are asked
for, and is not a list. A column of pandas is a `Series`. A tokenizer takes neither (`text input
must be of type str`), and a `Column` cannot be added to another, sorted or shuffled.

## Why it matters
The message speaks of texts and their types, so that people search the rows for values that are no
text; all of them are good. Scripts that ran with an older version stop.

## What to do
Make a list of it: `list(dataset["text"])`, `frame["text"].tolist()`.

## How it is recognised
The failing expression gives a tokenizer a `Column`, a `Series` or an array in place of texts, or
asks a `Column` for something that only a list has. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.lists import ARRAYS, ColumnForList, rows_of
from surefit.laws.values.value_words import in_words
from surefit.remedies.change import Change
from surefit.remedies.statements import assigned_name, statement_at
from surefit.source.edits import appended, wrapped
from surefit.source.patches import Edit, both

SYMPTOM = Symptom(
    r"text input must be of type|'Column'",
    "whether the texts are a list, or a column of a dataset or a table",
)
RULE = Rule("SF216", "column-is-no-list", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ColumnForList)
def column_stands_for_a_list(broken: ColumnForList, case: Case) -> Finding:
    origins = [origin(column, case) for column in broken.columns]
    names = spoken(dict.fromkeys(column.name for column in broken.columns))
    kinds = spoken(dict.fromkeys(f"`{column.value.kind}`" for column in broken.columns))
    are = "is a" if len(broken.columns) == 1 else "are each a"
    return case.finding(
        origins[0].place,
        f"{names} {are} {kinds}, and {broken.taken_by} takes a list.",
        facts=(
            *(Fact(column.name, in_words(column.value)) for column in broken.columns),
            Fact("fails at", str(broken.use.place)),
        ),
        why="A column reads its rows when they are asked for; it has the values of a list, and is"
        " not a list.",
        remedies=remedies(broken, origins, case),
    )


def origin(column: Operand, case: Case) -> Written:
    """Where a column that only has a name here was taken from its table."""
    assert column.use is not None
    if not isinstance(case.node(column.use), ast.Name):
        return column.use
    for producer in case.lineage(column).all:
        taken = isinstance(case.node(producer), ast.Subscript | ast.Attribute | ast.Call)
        if taken and producer.own and producer.value.kind == column.value.kind:
            return producer
    return column.use


def remedies(broken: ColumnForList, origins: list[Written], case: Case) -> Iterator[Remedy | None]:
    yield converted(broken, origins, case)
    yield converted(broken, [column.use for column in broken.columns if column.use], case)


def converted(broken: ColumnForList, at: list[Written], case: Case) -> Remedy | None:
    edit: Edit | None = None
    for column, written in zip(broken.columns, at, strict=True):
        node, source = case.node(written), case.source(written)
        if node is None or source is None:
            return None
        is_array = column.value.kind in ARRAYS
        change = (
            appended(source, node, ".tolist()") if is_array else wrapped(source, node, "list(", ")")
        )
        edit = both(edit, change) if edit is not None else change
    arrays = [column.value.kind in ARRAYS for column in broken.columns]
    ways = dict.fromkeys("`.tolist()`" if is_array else "`list(...)`" for is_array in arrays)
    words = f"Make a list of it with {spoken(ways)}."
    return Change(to=edit, words=words, must=condition(broken, at, case))


def condition(broken: ColumnForList, at: list[Written], case: Case) -> RowsArrive | None:
    """As many rows as the columns have: in what is computed of the list, or in the list itself."""
    _, statement = statement_at(case, broken.use)
    column = broken.columns[0]
    if statement is None or column.use is None:
        return None
    line = Place(broken.use.place.file, statement.lineno)
    if at[0] is not column.use:
        return RowsArrive(rows=rows_of(column.value), place=line, names=(column.value.text,), at=0)
    name = assigned_name(case, broken.use)
    return (
        RowsArrive(rows=broken.rows, place=line, names=(name,), after=True, at=0) if name else None
    )
