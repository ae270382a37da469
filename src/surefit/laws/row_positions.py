"""The position that `__getitem__` reads for a row: its number, and what is added to it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame
from surefit.laws.frame_numbers import integer_in

Term = tuple[int, ast.expr]
"""A part of a sum, with its sign."""


@dataclass(frozen=True, slots=True)
class RowPosition:
    """The number of a row, and what is added to it."""

    number: str
    row: int
    added: int
    less: str
    """What the length must lose for it: ` - self.width + 1`; empty where nothing is added."""


def position_of(frame: Frame, key: ast.expr, length: int) -> RowPosition | None:
    """In `__getitem__(self, number)`: `holder[number]` or `holder[number + more]`."""
    if not frame.function.endswith("__getitem__") or len(frame.arguments) < 2:
        return None
    number = frame.arguments[1]
    terms = list(terms_of(key))
    rows = [term for term in terms if isinstance(term[1], ast.Name) and term[1].id == number]
    row = integer_in(frame, rows[0][1]) if len(rows) == 1 and rows[0][0] > 0 else None
    others = [term for term in terms if term not in rows]
    sizes = [(sign, integer_in(frame, node)) for sign, node in others]
    if row is None or any(size is None for _, size in sizes):
        return None
    added = sum(sign * (size or 0) for sign, size in sizes)
    less = "".join(f" {'-' if sign > 0 else '+'} {ast.unparse(node)}" for sign, node in others)
    beyond = added >= 0 and row + added >= length > 0
    return RowPosition(number, row, added, less) if beyond else None


def terms_of(node: ast.expr, sign: int = 1) -> Iterator[Term]:
    """`a + b - c`: each with its sign."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as between, right=right):
            yield from terms_of(left, sign)
            yield from terms_of(right, sign if isinstance(between, ast.Add) else -sign)
        case _:
            yield sign, node
