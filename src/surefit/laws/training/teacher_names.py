"""All names that a source knows one model by, and the calls of it."""

import ast
from collections.abc import Iterator

from surefit.source.callers import given_by_position, is_open
from surefit.source.classes import (
    RETURNS_ITSELF,
    Method,
    function_called,
    method,
    named_class,
    pairs,
)
from surefit.source.reading import MOST_NAMES, Source, called, dotted

RUNS = ("forward", "__call__", "generate")


def names_held(source: Source, name: str) -> frozenset[str]:
    """A name, and those that hold the same model after assignments and as arguments."""
    found = {name}
    for _ in range(MOST_NAMES):
        fresh = {one for one in handed_on(source, found) if one not in found}
        if not fresh:
            break
        found |= fresh
    return frozenset(found)


def handed_on(source: Source, names: set[str]) -> Iterator[str]:
    for statement in source.every(ast.Assign):
        for target in statement.targets:
            for one, value in pairs(target, statement.value):
                if is_one_of(value, names) and dotted(one):
                    yield dotted(one)
    for call in source.every(ast.Call):
        function = function_run(source, call)
        if function is None or is_open(call):
            continue
        plain = given_by_position(source, function, call)
        known = [one.arg for one in (*plain, *function.args.kwonlyargs)]
        given = [(word.arg, word.value) for word in call.keywords if word.arg in known]
        for name, value in (*zip(known, call.args, strict=False), *given):
            if is_one_of(value, names):
                yield str(name)


def function_run(source: Source, call: ast.Call) -> Method | None:
    made = named_class(source, call.func)
    return method(source, made, "__init__") if made else function_called(source, call)


def is_one_of(value: ast.expr, names: set[str]) -> bool:
    """The model itself, also after `.to(device)` or `.eval()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if called(value) not in (*RETURNS_ITSELF, "requires_grad_"):
            return False
        value = value.func.value
    return dotted(value) in names


def calls_of(source: Source, names: frozenset[str]) -> Iterator[ast.Call]:
    """`teacher(x)`, `self.teacher.forward(x)`, `teacher.generate(x)`."""
    for call in source.every(ast.Call):
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in RUNS:
            func = func.value
        if dotted(func) in names:
            yield call
