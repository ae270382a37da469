"""A subscript that failed: what was asked, with which key."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.reading import Source

INDEXERS = ("loc", "at", "iloc", "iat")


@dataclass(frozen=True, slots=True)
class Asked:
    """`base[key]`, as the user's source has it; `self.frame.loc[at]` asks `self.frame`, and
    `inputs.pop("labels")` asks `inputs`."""

    source: Source
    node: ast.expr
    base: ast.expr
    key: ast.expr
    holder: Value | None
    wanted: Value | None


def subscript_in(frame: Frame, seen: Recording) -> Asked | None:
    """The failing part of a frame, if it is a subscript or a `pop`."""
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    parts = parts_of(node) if node else None
    if source is None or node is None or parts is None:
        return None
    base, key = parts
    if isinstance(base, ast.Attribute) and base.attr in INDEXERS:
        base = base.value
        key = key.elts[0] if isinstance(key, ast.Tuple) and key.elts else key
    values = {value.text: value for value in frame.values}
    wanted = values.get(ast.unparse(key)) or constant(key)
    return Asked(source, node, base, key, values.get(ast.unparse(base)), wanted)


def parts_of(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What is asked, and for which key."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    popped = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if popped and node.func.attr == "pop" and len(node.args) == 1 and not node.keywords:  # type: ignore[attr-defined]
        return node.func.value, node.args[0]  # type: ignore[attr-defined]
    return None


def constant(key: ast.expr) -> Value | None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str | int):
        return Value(ast.unparse(key), type(key.value).__name__, scalar=key.value)
    return None
