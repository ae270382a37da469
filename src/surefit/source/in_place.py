"""Statements and calls that write into a tensor: `w -= 1`, `w[0] = 1`, `w.zero_()`."""

import ast
from collections.abc import Iterator

from surefit.source.reading import Source


def written_text(source: Source, node: ast.stmt) -> str | None:
    """What a statement writes into: `w` of `w -= 1`, of `w[0] = 1` and of `w.zero_()`."""
    target: ast.expr | None = node.target if isinstance(node, ast.AugAssign) else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
    if isinstance(node, ast.Expr) and any(
        is_writing_method(call.func) for call in chain(node.value)
    ):
        target = root_of(node.value)
    if isinstance(target, ast.Subscript):
        target = target.value
    return source.segment(target) if isinstance(target, ast.Name | ast.Attribute) else None


def is_writing_method(func: ast.expr) -> bool:
    if not isinstance(func, ast.Attribute):
        return False
    return func.attr.endswith("_") and not func.attr.startswith("_")


def chain(node: ast.expr) -> Iterator[ast.Call]:
    """The calls of `x.mul_(0.9).add_(y)`, outermost first."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node
        node = node.func.value


def root_of(node: ast.expr) -> ast.expr | None:
    """What the first call of a chain is called on, if it can be assigned to."""
    calls = list(chain(node))
    first = calls[-1].func if calls else None
    value = first.value if isinstance(first, ast.Attribute) else None
    return value if isinstance(value, ast.Name | ast.Attribute) else None
