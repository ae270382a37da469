"""Columns of one table have different lengths.

## What happens
A table has one length. `Dataset.map(..., batched=True)` lets a function return more or fewer rows
than it was given, windows of long texts for instance; the columns that it does not return keep the
rows that they had, and Arrow refuses the two together (`expected length 40 but got length 118`).
pandas and `Dataset.from_dict` refuse columns of different lengths in the same way.

## Why it matters
The message names a column that is right. Padding, another `batch_size` or a loop of your own do not
help: the old columns are in the way.

## What to do
Drop the old columns where the number of rows changes: `remove_columns=dataset.column_names`. Return
what you still need of them from the function, once for each new row.

## How it is recognised
The columns that are written as one table have different lengths. Of a `map`, those of the dataset
have as many rows as were given, and those that the function returned have another number.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.table_columns import ColumnLengths, RowsOfMap
from surefit.lineage.properties import length
from surefit.remedies.arguments import SetArgument

SYMPTOM = Symptom(
    r"expected length \d+ but got length \d+|All arrays must be of the same length"
    r"|Length of values \(\d+\) does not match length of index",
    "how many rows each column has, and which of them a mapped function returned",
)
RULE = Rule("SF221", "columns-of-different-lengths", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(RowsOfMap)
def a_mapped_function_changes_the_number_of_rows(broken: RowsOfMap, case: Case) -> Finding:
    counts = sorted(set(broken.returned.values()))
    rows = spoken(f"{count:,}" for count in counts)
    return case.finding(
        broken.use.place,
        f"The mapped function returns {rows} rows for {broken.rows:,}, and the old columns"
        f" {some(broken.remaining)} keep {broken.rows:,}.",
        facts=(
            *(
                Fact(code(name), f"{broken.rows:,} rows, of the dataset")
                for name in broken.remaining
            ),
            *(Fact(code(name), f"{n:,} rows, returned") for name, n in broken.returned.items()),
        ),
        why="`map` writes the old columns and the returned ones as one table, and a table has one"
        " length.",
        remedies=(without_old(broken, case, len(counts) == 1),),
    )


def without_old(broken: RowsOfMap, case: Case, is_one_length: bool) -> Remedy | Fix:
    if not is_one_length:
        return Fix("Return as many values in each column, one for each new row.", choice=True)
    call = case.node(broken.use)
    method = call.func if isinstance(call, ast.Call) else None
    dataset = method.value if isinstance(method, ast.Attribute) else None
    text = ast.unparse(dataset) if isinstance(dataset, ast.Name | ast.Attribute) else ""
    known = case.own.value(text) if case.own is not None else None
    names = "[" + ", ".join(f'"{name}"' for name in broken.remaining) + "]"
    if known is not None and known.kind == "Dataset":  # a `DatasetDict` has columns for each split
        names = f"{text}.column_names"
    return SetArgument(
        at=broken.use,
        name="remove_columns",
        value=names,
        words=f"Drop the old columns, whose rows are no longer those of the result:"
        f" {code(f'remove_columns={names}')}.",
        must=TrainingGoesOn(changes_the_past=True, rows_change=True),
    )


@RULE.on(ColumnLengths)
def columns_differ_in_length(broken: ColumnLengths, case: Case) -> Finding:
    counts = [f"{code(name)} has {counted(n, 'value')}" for name, n in broken.lengths.items()]
    if broken.rows is not None:
        counts.append(f"the table {counted(broken.rows, 'row')}")
    return case.finding(
        broken.use.place,
        f"{spoken(counts)}: columns of one table have one length.",
        facts=tuple(created_at(broken, case)),
        why="A table has as many rows as each of its columns has values.",
        remedies=(Fix("Create one value for each row in every column.", choice=True),),
    )


def created_at(broken: ColumnLengths, case: Case) -> Iterator[Fact]:
    for name, operand in broken.columns.items():
        count = broken.lengths.get(name, 0)
        birth = case.lineage(operand).birth(of=length(count))
        yield from fact_at(f"{code(name)}, {count:,}", birth)
