"""Lines that a script tries, or asks for leave, because they do not work with every version."""

import ast

from surefit.source.reading import Function, Source

ASKS = ("version", "signature", "hasattr", "parameters", "find_spec", "available", "VERSION")


def is_tried_first(source: Source, node: ast.AST) -> bool:
    """It stands in the `try` of a `try ... except`, in one of its handlers, or under an `if` that
    asks for a version, a signature or an attribute."""
    inner = node
    for outer in source.up(node):
        if isinstance(outer, Function):
            return False
        if isinstance(outer, ast.Try) and outer.handlers and inner not in outer.finalbody:
            return True
        if isinstance(outer, ast.If | ast.IfExp) and asks(source, outer.test):
            return True
        inner = outer
    return False


def asks(source: Source, test: ast.expr) -> bool:
    written = source.segment(test)
    return any(word in written for word in ASKS) or "TYPE_CHECKING" in written
