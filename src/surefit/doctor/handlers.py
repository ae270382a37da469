"""What an `except` does with what it caught, as far as the source says it for certain."""

import ast
from collections.abc import Iterable, Iterator

from surefit.doctor.findings import Place
from surefit.source.reading import Loop, Source, called, dotted

BLIND = ("Exception", "BaseException")
ENDS = ("exit", "_exit", "quit", "abort", "kill")
NOTES = (
    "print",
    "warn",
    "warning",
    "info",
    "debug",
    "error",
    "exception",
    "critical",
    "log",
    "write",
)
"""Calls that tell somebody; what they are given is no result."""
NUMBERS = (
    *("float", "int", "bool", "str", "repr", "len", "min", "max", "round", "abs", "range"),
    *("tensor", "zeros", "zeros_like", "full"),
)
"""Calls that make a value of nothing that was measured."""
Tries = ast.Try | ast.TryStar


def handler_at(source: Source, place: Place) -> ast.ExceptHandler | None:
    return next(
        (
            node
            for node in source.nodes
            if isinstance(node, ast.ExceptHandler) and node.lineno == place.line
        ),
        None,
    )


def try_of(source: Source, handler: ast.ExceptHandler) -> Tries:
    parent = source.parents[handler]
    assert isinstance(parent, Tries)
    return parent


def is_blind(handler: ast.ExceptHandler) -> bool:
    """It takes everything that can go wrong."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted(kind) in BLIND for kind in kinds)


def passes_on(handler: ast.ExceptHandler) -> bool:
    """On every way through it the exception is raised again, or the process ends."""
    return any(isinstance(one, ast.Raise) or ends_process(one) for one in handler.body)


def ends_process(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and called(value) in ENDS


def computes_instead(source: Source, handler: ast.ExceptHandler) -> bool:
    """It gets the result in another way: calls what the `try` calls, or gives back, or keeps, what
    some other call made."""
    tried = {called(call) for call in calls(try_of(source, handler).body)} - {*NOTES, *NUMBERS, ""}
    for call in calls(handler.body):
        if called(call) in tried:
            return True
        if called(call) not in (*NOTES, *NUMBERS) and is_kept(source, call):
            return True
    return False


def tells_whether(source: Source, handler: ast.ExceptHandler) -> bool:
    """The `try` finds out whether something works here: it sets a name to true at its end, and the
    handler sets the same name to false, or the other way round."""
    tried = flags(try_of(source, handler).body)
    return any(tried.get(name) is (not value) for name, value in flags(handler.body).items())


def flags(body: Iterable[ast.stmt]) -> dict[str, bool]:
    """Names that these statements set to true or to false, as they are written."""
    return {
        target.id: node.value.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, bool)
    }


def is_kept(source: Source, call: ast.Call) -> bool:
    """What the call gives is assigned or given back, and not only told."""
    for outer in source.up(call):
        if isinstance(outer, ast.Call) and called(outer) in (*NOTES, *NUMBERS):
            return False
        if isinstance(outer, ast.stmt):
            return isinstance(outer, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return)
    return False


def calls(statements: Iterable[ast.stmt]) -> Iterator[ast.Call]:
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                yield node


def is_retried(source: Source, handler: ast.ExceptHandler) -> bool:
    """A loop tries until it works: success leaves the loop, failure goes round again."""
    tried = try_of(source, handler)
    if not any(isinstance(outer, Loop) for outer in within_function(source, tried)):
        return False
    return any(
        isinstance(node, ast.Break | ast.Return)
        for statement in (*tried.body, *tried.orelse)
        for node in ast.walk(statement)
    )


def only_notes(handler: ast.ExceptHandler) -> bool:
    """It tells somebody at most, and goes on."""
    return all(
        isinstance(one, ast.Pass | ast.Continue)
        or (
            isinstance(one, ast.Expr)
            and (
                isinstance(one.value, ast.Constant)
                or (isinstance(one.value, ast.Call) and called(one.value) in NOTES)
            )
        )
        for one in handler.body
    )


def within_function(source: Source, node: ast.AST) -> Iterator[ast.AST]:
    """What a node is in, out to its function."""
    for outer in source.up(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        yield outer
