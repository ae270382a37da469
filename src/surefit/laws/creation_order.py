"""Statements that make an optimizer and, in the same block after it, a layer of its model."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.source.line_edits import block_of
from surefit.source.reading import Source, called

MOST_CALLERS = 3
"""How far a line inside functions is followed out to who calls them."""


def both_in_one_block(
    source: Source, first: Place, then: Place
) -> tuple[ast.stmt, ast.stmt] | None:
    """The statements of one block by which two lines are run, the first before the second; None
    where there is not exactly one such pair."""
    pairs = [
        (earlier, later)
        for earlier in runs(source, first)
        for later in runs(source, then)
        if later in (block := block_of(source, earlier))
        and later is not earlier
        and block.index(earlier) < block.index(later)
    ]
    return pairs[0] if len(pairs) == 1 else None


def runs(source: Source, place: Place) -> list[ast.stmt]:
    """The statement at a line, and those that call the function or class that it stands in."""
    statement = source.statement_at(place.line or 0)
    statements = [statement] if statement else []
    newest = list(statements)
    for _ in range(MOST_CALLERS):
        names = {name for caller in newest if (name := name_around(source, caller))}
        newest = [caller for caller in callers(source, names) if caller not in statements]
        statements += newest
    return statements


def name_around(source: Source, statement: ast.stmt) -> str:
    """The function that a statement is in; of an `__init__`, the class."""
    scope = source.scope_of(statement)
    if not isinstance(scope, ast.FunctionDef):
        return ""
    owner = source.parents.get(scope)
    if scope.name == "__init__" and isinstance(owner, ast.ClassDef):
        return owner.name
    return scope.name


def callers(source: Source, names: set[str]) -> Iterator[ast.stmt]:
    for call in source.every(ast.Call):
        if called(call) in names:
            yield source.statement_of(call)
