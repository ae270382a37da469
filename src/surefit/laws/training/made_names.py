"""What the source calls an object that was made at a line, also where a function made several."""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.findings import Place
from surefit.source.reading import Source, called, dotted, targets


def name_at(source: Source | None, place: Place | None) -> str | None:
    """The one name that the statement at a line gives a value."""
    statement = source.statement_at(place.line) if source and place and place.line else None
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return None
    names = [dotted(target) for target in targets(statement)]
    return names[0] if len(names) == 1 and names[0] else None


def names_of_made(
    source: Source | None, place: Place | None, made: Sequence[int]
) -> dict[int, str]:
    """Names for the objects that one line made, given their serials in the order of making.

    A line inside a function that is called once for each of them: the names that these calls are
    assigned to, in order.
    """
    if source is None or place is None or place.line is None:
        return {}
    statement = source.statement_at(place.line)
    scope = source.scope_of(statement) if statement else None
    if isinstance(scope, ast.FunctionDef):
        names = list(assigned_from(source, scope))
    else:
        names = [name_at(source, place) or ""]
    if len(names) != len(made) or not all(names):
        return {}
    return dict(zip(sorted(made), names, strict=True))


def assigned_from(source: Source, function: ast.FunctionDef) -> Iterator[str]:
    calls = [node for node in source.every(ast.Call) if can_run(source, node, function)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        statement = source.statement_of(call)
        place = Place(source.file, statement.lineno)
        yield name_at(source, place) or ""


def can_run(source: Source, call: ast.Call, function: ast.FunctionDef) -> bool:
    """By its name, unless that is another thing where the call stands: an argument, say."""
    if called(call) != function.name:
        return False
    return not isinstance(call.func, ast.Name) or function in source.bound_by(call.func)
