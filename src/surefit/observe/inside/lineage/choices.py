"""Source that stands in the user's program twice, noted and as it was written, and the choice."""

import ast
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from surefit.observe.inside.lineage.regions import ALL, NEXT, Region


class PlainCopy:
    """Expressions or statements as they are before they are wrapped; functions inside them are
    wrapped all the same, because they may be called at another time."""

    def __init__(self, nodes: Sequence[Any]) -> None:
        self._nodes = [deepcopy(node) for node in nodes]
        self._lambdas = list(zip(lambdas_in(nodes), lambdas_in(self._nodes), strict=True))

    def nodes(self) -> list[Any]:
        """After the first ones have been wrapped."""
        for wrapped, plain in self._lambdas:
            plain.body, plain.args = wrapped.body, wrapped.args
        return self._nodes


def lambdas_in(nodes: Iterable[ast.AST]) -> list[ast.Lambda]:
    every = (inner for node in nodes for inner in ast.walk(node))
    return [inner for inner in every if isinstance(inner, ast.Lambda)]


SHORT = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr | ast.Assert | ast.Raise
COMPOUND = ast.If | ast.With | ast.AsyncWith | ast.Try | ast.TryStar | ast.Match
ONCE = (
    ast.For | ast.AsyncFor | ast.While | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    | ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom
)  # fmt: skip


def is_short(node: ast.stmt) -> bool:
    """It can stand in the source twice."""
    if isinstance(node, COMPOUND):
        return not any(isinstance(inner, ONCE) for inner in ast.walk(node))
    return isinstance(node, SHORT) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def reads_its_names(body: Sequence[ast.stmt]) -> bool:
    """`locals()` and the like would show variables of ours."""
    every = (inner for node in body for inner in ast.walk(node))
    return any(
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Name)
        and (inner.func.id in ("locals", "eval", "exec") or is_bare(inner, "vars", "dir"))
        for inner in every
    )


def is_bare(call: ast.Call, *names: str) -> bool:
    return getattr(call.func, "id", "") in names and not call.args and not call.keywords


def turn_of(region: Region) -> ast.expr:
    return ast.Call(name_of(NEXT), [name_of(region.name)], [])


def begun(region: Region, outer: str = "") -> ast.stmt:
    """Says whether a turn is noted: none inside a turn that is not, unless everything is."""
    turn = turn_of(region)
    if outer:
        noted = ast.BoolOp(ast.Or(), [name_of(outer), name_of(ALL)])
        turn = ast.IfExp(noted, turn, ast.Constant(False))
    return assigned([region.flag], turn)


def assigned(names: Sequence[str], value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store()) for name in names], value)


def name_of(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
