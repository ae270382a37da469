"""Functions of the user's that return rows, and the statements that end them with None."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.remedies.collating import loader_of
from surefit.source.classes import Method, function_called, method
from surefit.source.reading import Source
from surefit.source.returns import own_returns

MOST_CALLS = 4
"""Functions that are followed into each other."""


@dataclass(frozen=True, slots=True)
class Returning:
    """A function of the user's that returns rows, and the statements that end it with None."""

    source: Source
    function: Method
    ends: list[ast.stmt]

    @property
    def place(self) -> Place:
        return Place(self.source.file, next(iter(self.ends), self.function).lineno)


def returning_rows(collator: CollatorSeen, case: Case) -> Returning | None:
    """`__getitem__` of the dataset; of `[encode(row) for row in rows]` the function in it."""
    classes = {collator.dataset.kind, collator.dataset.of} if collator.dataset else set()
    for source, owner in case.recording.every(ast.ClassDef):
        function = method(source, owner, "__getitem__") if owner.name in classes else None
        if function is not None:
            return Returning(source, function, ways_to_none(source, function))
    return returned_to_list(case)


def returned_to_list(case: Case) -> Returning | None:
    source, call = loader_of(case) or (None, None)
    dataset = source.argument(call, "dataset", 0) if source and call else None
    rows = source.value_of(dataset) if source is not None and dataset is not None else None
    if source is None or not isinstance(rows, ast.ListComp) or not isinstance(rows.elt, ast.Call):
        return None
    function = function_called(source, rows.elt)
    ends = ways_to_none(source, function) if function is not None else []
    return Returning(source, function, ends) if function is not None and ends else None


def condition_of(source: Source, end: ast.stmt) -> str:
    outer = source.parents.get(end)
    if isinstance(outer, ast.If) and end in outer.body:
        return f", if {code(source.segment(outer.test))}"
    if isinstance(outer, ast.ExceptHandler):
        return f", after {code(source.segment(outer.type)) if outer.type else 'any exception'}"
    return ""


def ways_to_none(source: Source, function: Method, deep: int = 0) -> list[ast.stmt]:
    """Statements that end the function with None: `return`, `return None`, the last one where its
    end can be reached; those of a function of this file whose value is returned as it comes."""
    returns = list(own_returns(function))
    found: list[ast.stmt] = [one for one in returns if is_none(one.value)]
    if falls_through(function.body):
        found.append(function.body[-1])
    if not found and deep < MOST_CALLS:
        for one in returns:
            called = function_called(source, one.value) if isinstance(one.value, ast.Call) else None
            found += ways_to_none(source, called, deep + 1) if called else []
    return found


def is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def falls_through(block: Sequence[ast.stmt]) -> bool:
    """The end of a block can be reached."""
    return not block or all(goes_on(one) for one in block)


def goes_on(statement: ast.stmt) -> bool:
    """What follows a statement can be reached."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return False
    if isinstance(statement, ast.If):
        return falls_through(statement.body) or falls_through(statement.orelse)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return falls_through(statement.body)
    if isinstance(statement, ast.While) and is_endless(statement):
        return any(isinstance(one, ast.Break) for one in ast.walk(statement))
    if isinstance(statement, ast.Try):
        if statement.finalbody and not falls_through(statement.finalbody):
            return False
        tried = falls_through([*statement.body, *statement.orelse])
        return tried or any(falls_through(one.body) for one in statement.handlers)
    if isinstance(statement, ast.Match):
        caught = any(isinstance(one.pattern, ast.MatchAs) for one in statement.cases)
        return not caught or any(falls_through(one.body) for one in statement.cases)
    return True


def is_endless(loop: ast.While) -> bool:
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value)
