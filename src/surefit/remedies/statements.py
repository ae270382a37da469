"""Whole statements: put in before or after another, taken out."""

import ast
from dataclasses import dataclass
from typing import Literal

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.source.edits import inserted_after, inserted_before, removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Lines before or after the statement that an expression stands in, indented as it is."""

    at: Written | None
    where: Literal["before", "after"]
    text: str
    words: str
    must: Condition | None = None
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:
        source, statement = statement_at(case, self.at)
        if source is None or statement is None or shares_lines(source, statement):
            return None
        insert = inserted_before if self.where == "before" else inserted_after
        return insert(source, statement, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """The statement that an expression stands in is taken out."""

    at: Written | None
    words: str
    must: Condition | None = None
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:
        source, statement = statement_at(case, self.at)
        if source is None or statement is None or shares_lines(source, statement):
            return None
        return removed(source, statement)


def statement_at(case: Case, at: Written | None) -> tuple[Source | None, ast.stmt | None]:
    source = case.source(at.place) if at is not None else None
    if source is None or at is None:
        return None, None
    node = case.node(at)
    if node is not None:
        return source, source.statement_of(node)
    return source, source.statement_at(at.place.line) if at.place.line else None


def assigned_name(case: Case, at: Written | None) -> str | None:
    """The plain name that the value of an expression is assigned to."""
    _, statement = statement_at(case, at)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is case.node(at):
            return name
    return None
