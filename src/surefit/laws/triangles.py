"""Calls of `tril` and `triu` in the user's source, from which causal masks are built."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.source.reading import Source, called

TRIANGLES = ("tril", "triu", "tril_", "triu_")


@dataclass(frozen=True, slots=True)
class Triangle:
    """`ones.tril(1)`, `torch.triu(ones, diagonal=2)`."""

    source: Source
    call: ast.Call
    diagonal: int | None
    """None where it is no plain number."""

    @property
    def is_function(self) -> bool:
        return bool(self.source.imported(self.call.func))

    @property
    def written(self) -> ast.expr | None:
        """The expression of the diagonal."""
        return self.source.argument(self.call, "diagonal", 1 if self.is_function else 0)


def triangles(case: Case, near: Place) -> Iterator[Triangle]:
    """Those of the file of `near` first, the one whose class is the same, and then the closest."""
    every = [
        Triangle(source, call, diagonal_of(source, call))
        for source in case.recording.sources()
        for call in source.every(ast.Call)
        if called(call) in TRIANGLES
    ]
    yield from sorted(every, key=lambda found: distance(found, near))


def diagonal_of(source: Source, call: ast.Call) -> int | None:
    node = source.argument(call, "diagonal", 1 if source.imported(call.func) else 0)
    if node is None:
        return 0
    try:
        value = ast.literal_eval(source.value_of(node))
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None


def distance(triangle: Triangle, near: Place) -> tuple[bool, bool, int]:
    line = near.line or 0
    call = triangle.call
    classes = [
        node
        for node in triangle.source.up(call)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    outside = not any(node.lineno <= line <= (node.end_lineno or 0) for node in classes)
    return triangle.source.file != near.file, outside, abs(call.lineno - line)
