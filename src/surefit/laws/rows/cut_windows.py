"""Rows at the end of a dataset that are cut short: its `__len__` counts more windows than there
are."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.contracts.stacking import RowColumn, UnequalLengths
from surefit.source.classes import method
from surefit.source.reading import Source

Term = tuple[int, ast.expr]
"""A part of a sum, with its sign."""


@dataclass(frozen=True, slots=True)
class CutWindows:
    """`self.x[i : i + self.width]` of the last rows is shorter than that of all others."""

    column: RowColumn
    usual: int
    cut: tuple[tuple[int, int], ...]
    """Number of a row in the dataset, and its length."""
    window: Expression
    counts: Expression
    """What `__len__` returns, and what it would have to return."""
    instead: str


def cut_windows(broken: UnequalLengths, case: Case) -> CutWindows | None:
    collator, column = broken.collator, broken.wrong[0]
    if collator is None or collator.dataset is None or collator.dataset.of:
        return None
    if len(collator.asked) != len(column.lengths) or not column.only_first_axis:
        return None
    rows = list(zip(collator.asked, column.lengths, strict=True))
    usual = max(column.lengths)
    cut = tuple((row, length) for row, length in rows if length < usual)
    ends = {row + length for row, length in cut}
    if len(ends) != 1 or any(row + usual > min(ends) for row, length in rows if length == usual):
        return None
    for source in case.recording.sources():
        for kind in source.definitions.get(collator.dataset.kind, ()):
            counts, window = counted_by(source, kind), widest_window(source, kind)
            if counts is not None and window is not None:
                node, instead = window
                if instead != ast.unparse(counts):
                    at, by = case.expression(source, node), case.expression(source, counts)
                    return CutWindows(column, usual, cut, at, by, instead)
    return None


def counted_by(source: Source, kind: ast.AST) -> ast.expr | None:
    """What the one `return` of `__len__` gives."""
    length = method(source, kind, "__len__") if isinstance(kind, ast.ClassDef) else None
    returns = [node for node in ast.walk(length) if isinstance(node, ast.Return)] if length else []
    return returns[0].value if len(returns) == 1 else None


def widest_window(source: Source, kind: ast.AST) -> tuple[ast.expr, str] | None:
    """The slice that goes furthest beyond the number of the row, and how many there are of it."""
    getter = method(source, kind, "__getitem__") if isinstance(kind, ast.ClassDef) else None
    if getter is None or len(getter.args.args) < 2:
        return None
    number = getter.args.args[1].arg
    found: list[tuple[int, ast.expr, str]] = []
    for node in ast.walk(getter):
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            bounds = parts[0] if parts and isinstance(parts[0], ast.Slice) else None
            terms = list(terms_of(bounds.upper)) if bounds is not None and bounds.upper else []
            sizes = [(sign, ast.unparse(term)) for sign, term in terms]
            if (1, number) in sizes:
                sizes.remove((1, number))
                less = "".join(f" {'-' if sign > 0 else '+'} {text}" for sign, text in sizes)
                found.append((len(sizes), node, f"len({ast.unparse(node.value)}){less} + 1"))
    furthest = max(found, key=lambda window: window[0], default=None)
    return furthest[1:] if furthest is not None and furthest[0] else None


def terms_of(node: ast.expr, sign: int = 1) -> Iterator[Term]:
    """`a + b - c`: each with its sign."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as between, right=right):
            yield from terms_of(left, sign)
            yield from terms_of(right, sign if isinstance(between, ast.Add) else -sign)
        case _:
            yield sign, node
