"""A subscript that failed: what was asked, with which key."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.reading import Source

BY_LABEL = ("loc", "at")


@dataclass(frozen=True, slots=True)
class Asked:
    """`base[key]`, as the user's source has it; `self.frame.loc[at]` asks `self.frame`."""

    source: Source
    node: ast.Subscript
    base: ast.expr
    key: ast.expr
    holder: Value | None
    wanted: Value | None


def subscript_in(frame: Frame, seen: Recording) -> Asked | None:
    """The failing part of a frame, if it is a subscript."""
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    if source is None or not isinstance(node, ast.Subscript):
        return None
    base, key = node.value, node.slice
    if isinstance(base, ast.Attribute) and base.attr in BY_LABEL:
        base = base.value
        key = key.elts[0] if isinstance(key, ast.Tuple) and key.elts else key
    values = {value.text: value for value in frame.values}
    wanted = values.get(ast.unparse(key)) or constant(key)
    return Asked(source, node, base, key, values.get(ast.unparse(base)), wanted)


def constant(key: ast.expr) -> Value | None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str | int):
        return Value(ast.unparse(key), type(key.value).__name__, scalar=key.value)
    return None
