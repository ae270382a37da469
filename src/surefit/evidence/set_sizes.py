"""Where a size that a layer was made with was chosen: followed through names, arguments, calls."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.evidence.known_numbers import assigned, default_of, set_on
from surefit.source.reading import MOST_NAMES, Source, called


def chosen(source: Source, node: ast.expr) -> ast.expr:
    """The expression that a size comes from: `n_items = ratings.item.max()` gives the right side.

    An argument is what the one call of its function or class in this file gives for it, or else
    its default.
    """
    for _ in range(MOST_NAMES):
        before = step_back(source, node)
        if before is None or before is node:
            return node
        node = before
    return node


def step_back(source: Source, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Attribute):
        return set_on(source, node.attr)
    if not isinstance(node, ast.Name):
        return None
    bound = source.bound_by(node)
    if len(bound) != 1:
        return None
    if isinstance(bound[0], ast.arg):
        return given_for(source, bound[0]) or default_of(source, bound[0])
    if isinstance(bound[0], ast.Assign):
        return part_of(bound[0], node.id)
    return assigned(bound[0])


def part_of(statement: ast.Assign, name: str) -> ast.expr | None:
    """`users, items = a, b`: the part that is meant."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return next((b for a, b in pairs if isinstance(a, ast.Name) and a.id == name), None)
    return value if isinstance(target, ast.Name) else None


def given_for(source: Source, argument: ast.arg) -> ast.expr | None:
    """What the one call of a function, or of the class whose `__init__` it is, gives for it."""
    listed = source.parents.get(argument)
    function = source.parents.get(listed) if listed is not None else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(listed, ast.arguments):
        return None
    owner = source.parents.get(function)
    in_class = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    name = owner.name if in_class and isinstance(owner, ast.ClassDef) else function.name
    plain = [*listed.posonlyargs, *listed.args]
    at = plain.index(argument) - (1 if plain and in_class else 0) if argument in plain else None
    calls = [one for one in source.every(ast.Call) if called(one) == name]
    values = [source.argument(one, argument.arg, at) for one in calls]
    found = [one for one in values if one is not None]
    return found[0] if len(found) == len(calls) == 1 else None


def place_of(source: Source, node: ast.expr) -> Place:
    """The statement that an expression stands in; in a header, its own line."""
    statement = source.statement_of(node)
    if hasattr(statement, "body"):
        return Place(source.file, node.lineno)
    if (statement.end_lineno or 0) - statement.lineno > 2:
        return Place(source.file, node.lineno)
    return Place(source.file, statement.lineno, statement.end_lineno)


def keywords(seen: Recording, *names: str) -> Iterator[tuple[Source, ast.Call, ast.keyword]]:
    """Calls in the user's files that give one of these arguments by its name."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            for one in call.keywords:
                if one.arg in names and source is not None:
                    yield source, call, one
