"""Functions of the user's that make one row, and the expression that each of its columns is."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.source.classes import Method, function_called
from surefit.source.definitions import definition
from surefit.source.reading import Function, Source, called

EVERY = "*"
"""The column of an expression that gives a whole row, or each column in turn."""
MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class RowMaker:
    """A function that makes one row."""

    function: Function
    name: str
    """`TicketDataset.__getitem__`, `encode`."""
    mapped: ast.Call | None = None
    """The call of `map` that it was given to."""


def row_makers(source: Source) -> Iterator[RowMaker]:
    """`__getitem__` and `__iter__` of the file's classes, and what `map` is given, row by row."""
    for node in source.every(ast.ClassDef):
        for member in node.body:
            if isinstance(member, Method) and member.name in ("__getitem__", "__iter__"):
                yield RowMaker(member, f"{node.name}.{member.name}")
    for call in maps(source):
        function = given_function(source, call)
        if function is not None and not is_batched(source, call):
            yield RowMaker(function, name_of(function), call)


def maps(source: Source) -> Iterator[ast.Call]:
    """Calls of a method `map` with a function."""
    for call in source.every(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "map":
            yield call


def given_function(source: Source, call: ast.Call) -> Function | None:
    """The function of this file that a call of `map` was given."""
    given = source.argument(call, "function", 0)
    if isinstance(given, ast.Lambda):
        return given
    if isinstance(given, ast.Call) and called(given) == "partial" and given.args:
        given = given.args[0]
    if isinstance(given, ast.Call):
        return made_function(source, given)
    if isinstance(given, ast.Attribute | ast.Name):
        stands = ast.Call(given, [], [])
        return function_called(source, stands)
    return None


def made_function(source: Source, call: ast.Call) -> Function | None:
    """The function inside of another one that gives it back: `map(encode_with(tokenizer))`."""
    outer = function_called(source, call)
    given = [*results(source, outer)] if outer is not None else []
    if len(given) != 1:
        return None
    if isinstance(given[0], ast.Lambda):
        return given[0]
    bound = source.bound_by(given[0]) if isinstance(given[0], ast.Name) else []
    return bound[0] if len(bound) == 1 and isinstance(bound[0], Method) else None


def is_batched(source: Source, call: ast.Call) -> bool:
    given = source.argument(call, "batched")
    return given is not None and not (isinstance(given, ast.Constant) and given.value is False)


def name_of(function: Function) -> str:
    return "lambda" if isinstance(function, ast.Lambda) else function.name


def columns_of(source: Source, function: Function) -> dict[str, ast.expr]:
    """Column -> the expression that it is in what the function gives back."""
    found: dict[str, ast.expr] = {}
    for given in results(source, function):
        for column, expression in columns_in(source, function, given):
            found.setdefault(column, expression)
    return found


def results(source: Source, function: Function) -> Iterator[ast.expr]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in ast.walk(function):
        if not isinstance(node, ast.Return | ast.Yield) or node.value is None:
            continue
        if source.scope_of(node) is function:
            yield node.value


def columns_in(
    source: Source, function: Function, given: ast.expr
) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(given, ast.Name):
        for node in ast.walk(function):
            yield from assigned_to(source, function, node, given.id)
        return
    if isinstance(given, ast.Dict):
        for key, value in zip(given.keys, given.values, strict=True):
            if key is None:
                yield from columns_in(source, function, value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(given, ast.Tuple):
        yield from ((str(at), one) for at, one in enumerate(given.elts))
    elif isinstance(given, ast.DictComp):
        yield EVERY, given.value
    elif isinstance(given, ast.Call) and called(given) == "dict" and not given.args:
        yield from ((one.arg, one.value) for one in given.keywords if one.arg)
    else:
        inside = called_function(source, given)
        if inside is not None and inside is not function:
            yield from columns_of(source, inside).items()
        else:
            yield EVERY, given


def called_function(source: Source, given: ast.expr) -> Function | None:
    return function_called(source, given) if isinstance(given, ast.Call) else None


def assigned_to(
    source: Source, function: Function, node: ast.AST, name: str
) -> Iterator[tuple[str, ast.expr]]:
    """`item = {...}`, `item["labels"] = ...` and `item.update(...)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            if not isinstance(value, ast.Name):
                yield from columns_in(source, function, value)
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=target), slice=ast.Constant(value=str(key)))],
            value=value,
        ) if target == name:
            yield key, value


def reached_from(source: Source, node: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an expression, and of all that its names stand for, nearest first."""
    waiting: list[ast.AST] = [node]
    seen: set[ast.AST] = set()
    while waiting and len(seen) < MOST_STEPS:
        one = waiting.pop(0)
        if one in seen:
            continue
        seen.add(one)
        yield one
        waiting += list(ast.iter_child_nodes(one))
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            made = definition(source, one)
            waiting += [made] if made is not None else [*loop_values(source, one)]
        function = called_function(source, one) if isinstance(one, ast.Call) else None
        waiting += list(results(source, function)) if function else []


def loop_values(source: Source, name: ast.Name) -> Iterator[ast.expr]:
    """What a name of a comprehension or loop runs over."""
    for binder in source.bound_by(name):
        if isinstance(binder, ast.comprehension | ast.For):
            yield binder.iter
