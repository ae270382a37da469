"""Tables and lists of rows in which texts are missing, and where the user read them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Operand
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.lineage.producers import Producer


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
