"""How a name came to its value, as far as the source alone says it for certain."""

import ast
from collections.abc import Iterator

from surefit.source.reading import Source, targets

LOOPS_AND_SCOPES = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def definition(source: Source, name: ast.Name) -> ast.expr | None:
    """What a name stands for where it is read: the right side of the assignment that it has from.

    That is the last one before it on a straight way, or the only one there is. None where the name
    could have another value: from an argument, a loop, a branch.
    """
    bound = source.bound_by(name)
    statement = source.statement_of(name)
    earlier = last_binding(source, bound, statement)
    if earlier is None and len(bound) == 1 and isinstance(bound[0], ast.stmt):
        earlier = bound[0] if bound[0].lineno < statement.lineno else None
    return right_side(earlier) if earlier else None


def right_side(statement: ast.stmt) -> ast.expr | None:
    """Of `name = ...`; None for every other statement."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return None
    plain = all(isinstance(target, ast.Name) for target in targets(statement))
    return statement.value if plain else None


def last_binding(source: Source, bound: list[ast.AST], statement: ast.stmt) -> ast.stmt | None:
    """The nearest statement before, on a straight way, in which the name gets a value."""
    holding = {holder for one in bound for holder in (one, *source.up(one))}
    for block in blocks_before(source, statement):
        for earlier in reversed(block):
            if earlier in holding:
                return last_inside(earlier, holding)
    return None


def last_inside(statement: ast.stmt, holding: set[ast.AST]) -> ast.stmt:
    """Of a `with`, the last statement in it: what stands in one is run, whatever comes."""
    while isinstance(statement, ast.With | ast.AsyncWith):
        inside = [one for one in statement.body if one in holding]
        if not inside or any(can_end_early(one.context_expr) for one in statement.items):
            break
        statement = inside[-1]
    return statement


def can_end_early(context: ast.expr) -> bool:
    """`with suppress(...)`: an exception ends it, and what follows is run."""
    called = context.func if isinstance(context, ast.Call) else context
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("suppress", "raises")


def blocks_before(
    source: Source, statement: ast.stmt, ends: tuple[type[ast.AST], ...] = LOOPS_AND_SCOPES
) -> Iterator[list[ast.stmt]]:
    """Statements before this one in its block, then before the block's own statement, and so on.

    Ends at a loop, whose second round comes after its own end, and at a function.
    """
    inner: ast.AST = statement
    for outer in source.up(statement):
        for _, members in ast.iter_fields(outer):
            if isinstance(members, list) and inner in members:
                yield members[: members.index(inner)]
        if isinstance(outer, ends):
            return
        inner = outer
