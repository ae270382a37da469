"""Numbers, texts and truths that an expression stands for, wherever they are written."""

import ast
import operator
from collections.abc import Callable

from surefit.source.origins import origin
from surefit.source.reading import Source

DEEPEST = 12
ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def number(source: Source, node: ast.expr | None, deep: int = 0) -> int | float | None:
    """A number that is written out, or a sum, difference or product of such."""
    if node is None or deep > DEEPEST:
        return None
    node = origin(source, node)
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else None  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(source, node.operand, deep + 1)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left = number(source, node.left, deep + 1)
        right = number(source, node.right, deep + 1)
        if left is not None and right is not None:
            return ARITHMETIC[type(node.op)](left, right)
    return None


def text(source: Source, node: ast.expr | None) -> str | None:
    found = origin(source, node) if node is not None else None
    value = found.value if isinstance(found, ast.Constant) else None
    return value if isinstance(value, str) else None


def truth(source: Source, node: ast.expr | None) -> bool | None:
    """True or False that is written out; None for everything else."""
    found = origin(source, node) if node is not None else None
    value = found.value if isinstance(found, ast.Constant) else None
    return value if isinstance(value, bool) else None
