"""Texts that are missing in some rows reach a tokenizer, which takes nothing but text.

## What happens
An empty cell of a CSV file is read as `nan`, a JSON `null` as None. A tokenizer refuses the whole
batch for one of them (`TextEncodeInput must be Union[...]`), and code that works on the text itself
says `'float' object has no attribute 'lower'`.

## Why it matters
`str()` around the texts silences it and teaches the model the words `nan` and `None`. The message
names neither the column nor the rows, and a few rows of many are enough.

## What to do
Leave the rows out where the data is read (`dropna(subset=[...])`, `filter`), or give them a text
there, if an empty one means something (`fillna("")`).

## How it is recognised
Among the texts that the failing call was given are some that are None or nan, or the value whose
text was asked for is one. Tables and lists of rows that are alive tell in which column values are
missing, and in how many rows; a second run shows which expression read them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, fact_at
from surefit.doctor.words import code, counted, listed, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.samples import TextAbsent
from surefit.laws.training.made_names import name_at
from surefit.lineage.producers import Producer
from surefit.remedies.append import Append
from surefit.remedies.missing import LeaveOut

SYMPTOMS = (
    Symptom(
        r"TextEncodeInput must be|text input must be of type|You need to specify either `text`",
        "whether some of the texts are None or nan",
    ),
    Symptom(
        r"AttributeError: '(float|NoneType)' object has no attribute '"
        r"(lower|strip|split|replace|upper|encode|startswith)'|expected string or bytes-like",
        "whether the value comes from a column in which some rows are empty",
    ),
)
RULE = Rule("SF214", "missing-texts", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

LONGEST = 60


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table or list of rows that was alive, with a column in which texts are missing."""

    kind: str
    column: str
    rows: int
    missing: int
    first: tuple[int, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class TablesWithMissingTexts:
    """What the crashed process says."""

    probe: ClassVar[str] = "missing-texts"

    tables: tuple[TextTable, ...] = ()


@RULE.on(TextAbsent)
def a_text_is_missing(broken: TextAbsent, case: Case) -> Finding | None:
    tables = tables_named(case)
    if not tables and not broken.tokenizer:
        return None
    read = read_at(broken.texts, case, tables)
    return case.finding(
        (read or broken.use).place,
        headline(broken, tables),
        facts=(
            *map(gaps, tables),
            *given_here(broken),
            *fact_at("read at", read),
            *fact_at("fails at", broken.use if read else None),
        ),
        why="One value that is no text makes the whole call fail. `str()` around it would train on"
        f" the word `{broken.kind}`.",
        remedies=remedies(case, tables, read),
    )


def gaps(table: TextTable) -> Fact:
    rows = f"{table.missing:,} in all, in a {table.kind} of {counted(table.rows, 'row')}"
    return Fact(f"rows without `{table.column}`", f"{listed(table.first)}, from 0; {rows}")


def headline(broken: TextAbsent, tables: list[TextTable]) -> str:
    text = broken.use.text
    call = code(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
    if not tables:
        are = "is" if broken.absent == 1 else "are"
        texts = f"{broken.absent:,} of {counted(broken.count, 'text')}"
        return f"{texts} {are} {broken.kind}, and {call} takes text only."
    lacking = (f"{each.missing:,} of {each.rows:,} rows have no `{each.column}`" for each in tables)
    return f"{spoken(lacking)}: it is {broken.kind} there, and {call} takes text only."


def given_here(broken: TextAbsent) -> Iterator[Fact]:
    if broken.count > 1:
        at = f", at {listed(broken.at)}" if broken.at else ""
        yield Fact("given here", f"{counted(broken.count, 'text')}, {broken.absent:,} missing{at}")


def remedies(case: Case, tables: list[TextTable], read: Producer | None) -> Iterator[Remedy | Fix]:
    if read is None or not tables:
        text = "Leave out the rows without a text where the data is read: `dropna(subset=[...])`"
        yield Fix(f"{text} of a DataFrame, `filter` of a Dataset.", choice=True)
        return
    names = spoken(code(table.column) for table in tables)
    most = max(tables, key=lambda table: table.missing)
    lost = f"{most.missing:,} of {counted(most.rows, 'row')} are lost"
    at_least = "at least " if len(tables) > 1 else ""
    words = f"Leave out the rows without {names} where they are read: {at_least}{lost}."
    columns = tuple(table.column for table in tables)
    must = rows_left(case, tables, read)
    yield LeaveOut(at=read, kind=most.kind, columns=columns, words=words, must=must)
    if most.kind == "DataFrame":
        empty = ", ".join(f'"{column}": ""' for column in columns)
        words = "If an empty text means something, give it to these rows there."
        suffix = f".fillna({{{empty}}})"
        yield Append(at=read, suffix=suffix, words=words, choice=True, alike=False)


def rows_left(case: Case, tables: list[TextTable], read: Producer) -> Condition:
    """Exactly the rows with a text are left, where the table has a name, and training goes on."""
    trains = TrainingGoesOn(changes_the_past=True)
    name = name_at(case.source(read), read.place)
    if name is None or len(tables) > 1:
        return trains
    left = Wanted(name, rows=tables[0].rows - tables[0].missing)
    return All((ValuesAt(read.place, (left,), after=True, at=0), trains))


def tables_named(case: Case) -> list[TextTable]:
    """The largest table for each column that the source names; those that the failing statement
    names first."""
    said = case.ask(TablesWithMissingTexts)
    words = {word for source in case.recording.sources() for word in words_in(source.tree)}
    largest: dict[str, TextTable] = {}
    for table in sorted(said.tables if said is not None else (), key=lambda table: -table.rows):
        if table.column in words:
            largest.setdefault(table.column, table)
    own = case.own
    source = case.source(own)
    statement = source.statement_at(own.place.line or 0) if source and own else None
    near = set(words_in(statement)) if statement is not None else set()
    named = [table for table in largest.values() if table.column in near]
    return named or list(largest.values())


def words_in(node: ast.AST) -> Iterator[str]:
    """Strings and attributes."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def read_at(texts: Operand, case: Case, tables: list[TextTable]) -> Producer | None:
    """The first of the user's expressions that has the table with the missing texts."""
    sizes = {(table.kind, table.rows) for table in tables}
    for operand in (texts, *tables_in_frames(case, sizes)) if sizes else ():
        every = case.lineage(operand).producers
        holding = [known for known in every if (known.value.kind, known.value.length) in sizes]
        if holding:
            return holding[-1]
    return None


def tables_in_frames(case: Case, sizes: set[tuple[str, int]]) -> Iterator[Operand]:
    """A lineage can end where a library hands rows to a function."""
    for number, frame in enumerate(case.frames):
        for value in frame.values if frame.own else ():
            if (value.kind, value.length) in sizes:
                yield Operand(value=value, name=code(value.text), frame=number)
