"""Where a function of the user's gives back None: by a `return` of it, or by its end."""

import ast
from collections.abc import Sequence

from surefit.source.classes import Method, function_called
from surefit.source.reading import Source
from surefit.source.returns import own_returns

MOST_CALLS = 4
"""Functions that are followed into each other."""


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
