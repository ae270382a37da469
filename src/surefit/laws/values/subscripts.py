"""A subscript that failed: what was asked, with which key."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
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


def subscript_in(frame: Frame, recording: Recording) -> Asked | None:
    """The failing part of a frame, if it is a subscript or a `pop`."""
    source = recording.source(frame.place)
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


def keys_asked(asked: Asked) -> list[tuple[str, ast.Constant | None]]:
    """Each text that is asked for, with where it is written: the key, or a list of keys, also under
    a name."""
    node = asked.source.value_of(asked.key)
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    written = [
        (part.value, part)
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    if written or asked.wanted is None:
        return list(written)
    values = asked.wanted.members.values() or [asked.wanted]
    return [(value.scalar, None) for value in values if isinstance(value.scalar, str)]


def constant(key: ast.expr) -> Value | None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str | int):
        return Value(ast.unparse(key), type(key.value).__name__, scalar=key.value)
    return None


def readable(asked: Asked, key: str) -> str:
    """The value as the statement itself can read it: inside a comprehension, of the first row."""
    base = ast.unparse(asked.base)
    for outer in asked.source.up(asked.node):
        if isinstance(outer, ast.stmt):
            break
        for generator in getattr(outer, "generators", ()):
            if ast.unparse(generator.target) == base and isinstance(generator.iter, ast.Name):
                base = f"{generator.iter.id}[0]"
    return f"{base}[{key!r}]"


def renamed_everywhere(asked: Asked, new: str) -> Edit:
    """Another key here, and wherever else the same holder is asked for the same one."""
    source, base, key = asked.source, ast.unparse(asked.base), ast.unparse(asked.key)
    edit = replaced(source, asked.key, f'"{new}"')
    for node in source.every(ast.expr):
        parts = parts_of(node) if node is not asked.node else None
        if parts is None or isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            continue
        if (ast.unparse(parts[0]), ast.unparse(parts[1])) == (base, key):
            edit = both(edit, replaced(source, parts[1], f'"{new}"'))
    return edit
