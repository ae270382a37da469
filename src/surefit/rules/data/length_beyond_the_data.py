"""`__len__` of a dataset promises more rows than `__getitem__` can give.

## What happens
A loader asks for every number below `len(dataset)`. Where `__getitem__` reads a position that the
data does not have, because it looks a few positions ahead (`self.series[at + self.width]`) or
`__len__` counts something else, the last rows end in an `IndexError`.

## Why it matters
A loader that does not shuffle comes to the last rows at the end of an epoch, after hours; one that
shuffles fails at a random step.

## What to do
Let `__len__` give the number of rows that can be read: `len(self.series) - self.width`.

## How it is recognised
A subscript in `__getitem__` failed with an `IndexError`. Its position is the number of the row, or
that and something more (`at + self.width + self.ahead - 1`), and lies beyond the end, while
`__len__` of the class counts the whole, subtracts too few from it, or counts something else.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.positions import PositionsInside
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import Frame
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.keys import PositionAbsent
from surefit.laws.values.frame_numbers import integer_in
from surefit.remedies.replace import ReplaceWith
from surefit.source.classes import method
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"IndexError: ",
    "how many rows `__len__` of the dataset promises, and how many there are",
    r"__getitem__|fetch",
)
RULE = Rule("SF218", "length-beyond-the-data", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

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


@RULE.on(PositionAbsent)
def a_row_was_promised(broken: PositionAbsent, case: Case) -> Finding | None:
    position = position_of(case.own, broken.asked.key, broken.length) if case.own else None
    counts = returned_by_len(broken)
    if position is None or counts is None:
        return None
    source, row, added = broken.asked.source, position.row, position.added
    if is_whole(counts, broken) and not added:
        return None  # the number came from elsewhere
    counting, values = code(ast.unparse(counts)), counted(broken.length, "value")
    headline = (
        f"`__len__` promises a row {row:,} by {counting}, and {broken.holder.name} has {values}."
    )
    if added:
        headline = (
            f"`__len__` counts {counting}, and row {row:,} needs {broken.holder.name} at {row:,} +"
            f" {added:,}, beyond the last of its {values}."
        )
    return case.finding(
        Place(source.file, counts.lineno),
        headline,
        facts=(
            Fact("asked for", f"position {row + added:,} of {broken.length:,}, from 0"),
            Fact("`__len__` counts", counting),
            *fact_at("fails at", broken.use),
        ),
        why="A loader asks for every number below `len(dataset)`, the last ones too.",
        remedies=(shorter(broken, case, position, counts),),
    )


def shorter(broken: PositionAbsent, case: Case, position: RowPosition, counts: ast.expr) -> Remedy:
    """A choice where `__len__` counts something else: rows can be missing here instead."""
    source, holder = broken.asked.source, ast.unparse(broken.asked.base)
    length = f"len({holder}){position.less if position.added else ''}"
    place = Place(source.file, source.statement_of(broken.asked.node).lineno)
    rows = broken.length - position.added
    return ReplaceWith(
        at=case.expression(source, counts),
        text=length,
        words=f"Let `__len__` give `{length}`: {rows:,} rows can be read.",
        must=PositionsInside(place, holder, position.number, position.added, broken.length),
        choice=counts_something_else(broken, counts),
    )


def returned_by_len(broken: PositionAbsent) -> ast.expr | None:
    """What the one `return` of `__len__` of the class gives."""
    source = broken.asked.source
    owner = source.class_around(broken.asked.node)
    length = method(source, owner, "__len__") if owner is not None else None
    returns = [node for node in ast.walk(length) if isinstance(node, ast.Return)] if length else []
    return returns[0].value if len(returns) == 1 else None


def is_whole(counts: ast.expr, broken: PositionAbsent) -> bool:
    return ast.unparse(counts) == f"len({ast.unparse(broken.asked.base)})"


def counts_something_else(broken: PositionAbsent, counts: ast.expr) -> bool:
    """Neither the whole of it nor that less a few."""
    whole = f"len({ast.unparse(broken.asked.base)})"
    calls = [node for node in ast.walk(counts) if isinstance(node, ast.Call)]
    lengths = {ast.unparse(call) for call in calls if called(call) == "len"}
    signs = [sign for sign, node in terms_of(counts) if ast.unparse(node) == whole]
    return bool(lengths - {whole}) or signs != [1]


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
