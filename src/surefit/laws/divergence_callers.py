"""What a function that computes a divergence is given for the logits of both sides."""

import ast

from surefit.laws.divergences import LOG_SOFTMAX, SOFTMAX, Divergence
from surefit.source.callers import calls_that_run, given_in
from surefit.source.classes import Method
from surefit.source.definitions import definition
from surefit.source.operations import operation
from surefit.source.reading import Source

MOST_STEPS = 12
PASSED = ("view", "reshape", "flatten", "detach", "contiguous", "float", "to", "clone", "log")
"""Methods that leave places where they are, or side by side."""


def logits_given(one: Divergence) -> tuple[ast.expr, ast.expr] | None:
    """The two arguments of the only call of that function; None where one of them is not known."""
    source, function = one.source, one.source.scope_of(one.call)
    calls = calls_that_run(source, function) if isinstance(function, Method) else None
    if calls is None or len(calls) != 1 or one.given is None or one.target is None:
        return None
    arguments = [argument_behind(source, side, function) for side in (one.given, one.target)]
    first, second = (
        given_in(source, function, calls[0], argument) if argument is not None else None
        for argument in arguments
    )
    return (first, second) if first is not None and second is not None else None


def argument_behind(source: Source, node: ast.expr, function: ast.AST) -> ast.arg | None:
    """Of a function: the one that holds the logits which a side of a divergence comes from."""
    for _ in range(MOST_STEPS):
        if isinstance(node, ast.Name):
            made = definition(source, node)
            if made is None:
                return argument_named(source, node, function)
            node = made
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
            node = node.left
        elif isinstance(node, ast.Call) and (inner := taken(source, node)) is not None:
            node = inner
        else:
            break
    return None


def argument_named(source: Source, name: ast.Name, function: ast.AST) -> ast.arg | None:
    found = [one for one in source.bound_by(name) if isinstance(one, ast.arg)]
    of_function = [one for one in found if source.parents[source.parents[one]] is function]
    return of_function[0] if len(of_function) == 1 else None


def taken(source: Source, call: ast.Call) -> ast.expr | None:
    """What a softmax, or a change of shape, is taken of."""
    name = operation(source, call)
    if name in (*SOFTMAX, *LOG_SOFTMAX) and not name.startswith("."):
        return source.argument(call, "input", 0)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    known = method in PASSED or name in (*SOFTMAX, *LOG_SOFTMAX)
    return call.func.value if known and isinstance(call.func, ast.Attribute) else None


def is_known_beside(source: Source, text: str, node: ast.expr) -> bool:
    """The name that a text begins with is one of the function that a node stands in."""
    names = [one.id for one in ast.walk(ast.parse(text, mode="eval")) if isinstance(one, ast.Name)]
    scope = source.scope_of(node)
    return all(
        any(one.id == name and source.scope_of(one) is scope for one in source.every(ast.Name))
        for name in names
    )
