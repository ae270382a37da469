"""One row, or a few, are unlike all others in what the code takes from them.

## What happens
Code that works on every other row fails on one: a cell with `n/a` among numbers, a caption that is
null, a grey photo among colour ones, an empty list. The exception tells the value, not the row.

## Why it matters
Rows come shuffled, so that the run fails at another step each time, after minutes or hours. To pad
or to convert all rows so that this one passes can train on something that is no data.

## What to do
Look at the row that is named. Repair it where it is written, convert it where it is read, or leave
it out, with all that are like it.

## How it is recognised
The row that was at work when the exception came is looked up where the rows are stored: in a list,
a table, an attribute of a dataset. What the failing expression takes from it is of another kind or
shape than in at least four of five rows. All rows are looked at, as far as time allows. Text files
that the script names are searched for the line that has the row.
"""

from collections.abc import Iterator
from pathlib import Path

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written, fact_at
from surefit.doctor.words import code, listed
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.odd_rows import OddRow, RowUnlike, shape_in
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.append import Append
from surefit.remedies.wrap import Wrap

RULE = Rule(
    "SF787",
    "row-unlike-the-others",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(
        Symptom(
            r"could not convert string to float|'NoneType' object"
            r"|stack expects each tensor to be equal size",
            "which row is unlike the others, and how many are like it",
        ),
    ),
)
OTHER_ROWS = TrainingGoesOn(changes_the_past=True, rows_change=True)


@RULE.on(RowUnlike)
def a_row_is_unlike_the_others(broken: RowUnlike, case: Case) -> Finding:
    row = broken.row
    made = built_at(broken, case)
    given = handed_over(case) if row.channels is not None else None
    return case.finding(
        (given or made or broken.use).place,
        headline(broken),
        facts=(
            *facts(row),
            *fact_at("rows are from", made),
            *fact_at("fails at", broken.use),
        ),
        why="What the failing line takes from a row is of one kind in all the others.",
        remedies=remedies(broken, made, given),
    )


def headline(broken: RowUnlike) -> str:
    row = broken.row
    return (
        f"Row {row.at:,} of {holder(row)} {has(row)}; {row.usually:,} of the"
        f" {row.rows:,} rows{' of this batch' if row.kind == 'batch' else ''} have {row.usual}."
    )


def holder(row: OddRow) -> str:
    file = f", {written_at(row)}," if row.file else ""
    return (
        f"the dataset{file}"
        if row.kind == "batch"
        else f"{code(row.text.removeprefix('self.dataset.'))}{file}"
    )


def written_at(row: OddRow) -> str:
    return f"{Path(row.file).name}:{row.line}"


def has(row: OddRow) -> str:
    value = repr(row.texts[0]) if len(row.texts) == 1 else row.has
    if row.kind == "batch":
        return f"gives {value} in {code(row.text)}"
    return f"has {value} as {code(str(row.key))}" if row.key != "" else f"is {value}"


def facts(row: OddRow) -> Iterator[Fact]:
    if row.kind != "batch":
        others = f"{row.alike:,} of {row.rows:,}: {listed(row.first)}"
        more = ", ..." if row.alike > len(row.first) else ""
        yield Fact("rows like it, from 0", f"{others}{more}")
    if row.texts:
        yield Fact(f"in place of {row.usual}", ", ".join(repr(text) for text in row.texts))


def built_at(broken: RowUnlike, case: Case) -> Producer | None:
    """The user's expression that made the rows: on the lineage of what fails, one with so many."""
    if broken.row.kind == "batch" or case.own is None:
        return None
    held = Operand(value=Value(broken.row.text, ""), name="", frame=broken.row.frame)
    parts_here = [
        Operand(value=value, name="", frame=case.number)
        for value in case.own.values
        if value.text != "self"
    ]
    for operand in (held, *parts_here):
        for producer in case.lineage(operand).producers:
            value = producer.value
            stored = value.kind in ("list", "tuple", "DataFrame")
            if (
                stored
                and value.length == broken.row.rows
                and producer.kind is not ProducerKind.MUTATION
            ):
                return producer
    return None


def handed_over(case: Case) -> Producer | None:
    """Where the row's picture is given to the loader."""
    columns = case.crash.collator.shapes if case.crash and case.crash.collator else {}
    for column in columns:
        lineage = case.lineage_of_column(column)
        shapes = set(columns[column])
        if len(shapes) > 1:
            return lineage.role() or lineage.handed_over()
    return None


def remedies(
    broken: RowUnlike, made: Producer | None, given: Written | None
) -> Iterator[Remedy | Fix]:
    row, test = broken.row, test_for(broken.row)
    if row.channels is not None:
        yield from alike_channels(row, given)
    words = "Leave it out" if row.alike == 1 else f"Leave out the {row.alike:,} rows like it"
    if made is not None and row.alone and test and row.kind in ("list", "DataFrame"):
        text = f"where the rows are read: {row.rows - row.alike:,} of {row.rows:,} are left."
        if row.kind == "DataFrame":
            after = f".loc[lambda rows: {test.replace('row', 'rows')}].reset_index(drop=True)"
            yield Append(
                at=made, suffix=after, words=f"{words} {text}", choice=True, must=OTHER_ROWS
            )
        else:
            yield Wrap(
                at=made,
                before="[row for row in ",
                after=f" if {test}]",
                words=f"{words} {text}",
                choice=True,
                must=OTHER_ROWS,
                alike=False,
            )
    else:
        yield Fix(f"{words}, with its label and all else that is kept beside it.", choice=True)
    if row.file:
        yield Fix(f"Repair it where it is written: {written_at(row)}.", choice=True)


def alike_channels(row: OddRow, given: Written | None) -> Iterator[Remedy]:
    assert row.channels is not None
    odd, usual_count = row.channels
    if odd == 1:
        words = f"Repeat the single channel {usual_count} times; pictures with {usual_count} stay."
        suffix = f".expand({usual_count}, -1, -1)"
        yield Append(at=given, suffix=suffix, words=words, choice=True, alike=False)
    elif odd > usual_count:
        words = f"Take the first {usual_count} channels; the last one is transparency."
        yield Append(at=given, suffix=f"[:{usual_count}]", words=words, choice=True, alike=False)


def test_for(row: OddRow) -> str:
    """What holds for the rows that are left."""
    key = f'"{row.key}"' if isinstance(row.key, str) else str(row.key)
    item = f"row[{key}]" if row.key != "" else "row"
    if row.has == "None":
        return f"{item} is not None" if row.kind == "list" else f"{item}.notna()"
    if row.texts and len(row.texts) == row_texts(row):
        several = ", ".join(repr(text) for text in row.texts)
        return f"{item} not in ({several},)" if row.kind == "list" else f"~{item}.isin([{several}])"
    if row.has == "an empty list":
        return item
    shape = shape_in(row.usual)[1]
    return f"tuple({item}.shape) == {shape}" if shape and row.kind == "list" else ""


def row_texts(row: OddRow) -> int:
    """How many different texts there can be: all are known while there are few."""
    return len(row.texts) if len(row.texts) < 5 else -1
