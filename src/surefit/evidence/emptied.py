"""What left nothing of some rows: the expression that keeps a part of them, and of how many."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash
from surefit.evidence.gaps import came_from, leaves_gaps
from surefit.source.classes import method, named_class, set_on_self
from surefit.source.reading import Source, called

MOST_STEPS = 10
PART = ("filter", "query", "dropna", "select", "glob", "rglob", "iglob", "listdir")


@dataclass(frozen=True, slots=True)
class Kept:
    """An expression that keeps a part of what it is given."""

    node: ast.expr
    of: str
    """What it was given, as the source has it; empty where that is no value."""
    count: int | None
    """How many there were, if that is known."""


def emptied_by(source: Source, crash: Crash, node: ast.expr) -> Kept | None:
    """The first on the way back from a value; None where the source does not tell."""
    for one in back_from(source, node, MOST_STEPS):
        given = given_to(source, one)
        if given is None:
            continue
        if has_rows(source, crash, one):
            return None
        text = ast.unparse(given)
        return Kept(one, text, length_of(crash, text))
    return None


def has_rows(source: Source, crash: Crash, node: ast.expr) -> bool:
    """What it kept is known under a name, and is not empty."""
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return False
    return any((length_of(crash, ast.unparse(one)) or 0) > 0 for one in statement.targets)


def back_from(source: Source, node: ast.expr, left: int) -> Iterator[ast.expr]:
    if left == 0:
        return
    yield node
    for before in (*inside_class(source, node), *came_from(source, node)):
        yield from back_from(source, before, left - 1)


def inside_class(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """Of an instance of a class of the file: what its `__len__` counts, and what it was given."""
    made = node if isinstance(node, ast.Call) else None
    owner = named_class(source, made.func) if made else None
    length = method(source, owner, "__len__") if owner else None
    for one in ast.walk(length) if length else ():
        if isinstance(one, ast.Call) and called(one) == "len" and one.args:
            held = one.args[0]
            found = set_on_self(source, held) if isinstance(held, ast.Attribute) else None
            if found is not None:
                yield found


def given_to(source: Source, node: ast.expr) -> ast.expr | None:
    """What an expression keeps a part of; None for one that keeps all."""
    if isinstance(node, ast.ListComp) and any(one.ifs for one in node.generators):
        return node.generators[0].iter
    if isinstance(node, ast.Call) and called(node) in PART:
        if isinstance(node.func, ast.Attribute):
            return node.func.value
        return node.args[-1] if node.args else node
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return node.value
    if isinstance(node, ast.Call | ast.Subscript) and leaves_gaps(source, node):
        return node.func if isinstance(node, ast.Call) else node.value
    return None


def length_of(crash: Crash, text: str) -> int | None:
    """In one of the user's frames."""
    for frame in reversed(crash.frames):
        for value in frame.values if frame.own else ():
            if value.text == text and value.length is not None:
                return value.length
    return None
