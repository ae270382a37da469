"""`__len__` of a dataset promises more rows than `__getitem__` can give.

## What happens
A loader asks for every number below `len(dataset)`. Where `__getitem__` reads a place that the data
does not have, as it looks a few places ahead (`self.series[at + self.width]`) or `__len__` counts
something else, the last rows end in an `IndexError`.

## Why it matters
A loader that does not shuffle comes to the last rows at the end of an epoch, after hours; one that
shuffles fails at a random step.

## What to do
Let `__len__` give the number of rows that can be read: `len(self.series) - self.width`.

## How it is recognised
A subscript in `__getitem__` failed with an `IndexError`, its position is the number of the row or
that and something more (`at + self.width + self.ahead - 1`), and lies behind the end of what is
asked, while `__len__` of the class counts the whole of it, takes too few from that, or counts
something else. The text of the exception is not looked
at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.positions import PositionsInside
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.failed_keys import Asked, subscript_in
from surefit.source.classes import method
from surefit.source.edits import replaced
from surefit.source.reading import called

RULE = Rule(
    "SF218",
    "length-beyond-the-data",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"IndexError: ",
            "how many rows `__len__` of the dataset promises, and how many there are",
            r"__getitem__|fetch",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Beyond:
    """A position behind the end: the number of the row, and what is added to it."""

    number: str
    row: int
    added: int
    text: str
    """What the length must lose for it: ` - self.width + 1`; empty where nothing is added."""
    rows: int
    """Of what is asked."""


@RULE.on(Crash)
def a_row_was_promised(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    asked = subscript_in(frame, seen) if frame and crash.kind == "IndexError" else None
    if frame is None or asked is None or not is_cause(crash, seen):
        return
    beyond = behind_the_end(frame, asked)
    counts = counted_by(asked) if beyond else None
    if beyond is None or counts is None:
        return
    whole = f"len({ast.unparse(asked.base)})"
    counting = ast.unparse(counts)
    if counting == whole and not beyond.added:
        return  # the number came from elsewhere
    yield RULE.finding(
        Place(asked.source.file, counts.lineno),
        headline(asked, beyond, counting),
        facts=(
            Fact("asked for", f"position {beyond.row + beyond.added:,} of {beyond.rows:,}, from 0"),
            Fact("`__len__` counts", code(counting)),
            Fact("fails at", str(frame.place)),
        ),
        why="A loader asks for every number below `len(dataset)`, the last ones too.",
        fixes=(fix(asked, beyond, counts, counting == whole),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(asked: Asked, beyond: Beyond, counting: str) -> str:
    holder = code(asked.source.segment(asked.base))
    rows = counted(beyond.rows, "value")
    if beyond.added:
        return (
            f"`__len__` counts {code(counting)}, and row {beyond.row:,} needs {holder} at"
            f" {beyond.row:,} + {beyond.added:,}, behind the last of its {rows}."
        )
    return (
        f"`__len__` promises a row {beyond.row:,} by {code(counting)}, and {holder} has"
        f" {rows} only."
    )


def behind_the_end(frame: Frame, asked: Asked) -> Beyond | None:
    """In `__getitem__(self, number)`: `holder[number]` or `holder[number + more]`."""
    holder = asked.holder
    rows = (holder.shape[0] if holder.shape else holder.length) if holder else None
    if rows is None or not frame.function.endswith("__getitem__") or len(frame.arguments) < 2:
        return None
    number = frame.arguments[1]
    row = whole(frame, ast.Name(number))
    if row is None:
        return None
    others = terms_besides(asked.key, number)
    sizes = [whole(frame, one) for _, one in others] if others is not None else [None]
    if others is None or None in sizes:
        return None
    added = sum(sign * (size or 0) for (sign, _), size in zip(others, sizes, strict=True))
    text = "".join(f" {'-' if sign > 0 else '+'} {ast.unparse(one)}" for sign, one in others)
    is_behind = added >= 0 and row + added >= rows > 0
    return Beyond(number, row, added, text, rows) if is_behind else None


def terms_besides(key: ast.expr, number: str) -> list[tuple[int, ast.expr]] | None:
    """What is added to the number of the row or taken from it, with its sign; None where the
    position is something else."""
    terms = list(terms_of(key))
    of_the_row = [one for one in terms if is_name(one[1], number)]
    if len(of_the_row) != 1 or of_the_row[0][0] < 0:
        return None
    return [one for one in terms if one is not of_the_row[0]]


def terms_of(node: ast.expr, sign: int = 1) -> Iterator[tuple[int, ast.expr]]:
    """`a + b - c`: each with its sign."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as between, right=right):
            yield from terms_of(left, sign)
            yield from terms_of(right, sign if isinstance(between, ast.Add) else -sign)
        case _:
            yield sign, node


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def whole(frame: Frame, node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    text = ast.unparse(node)
    values: list[Value] = [value for value in frame.values if value.text == text]
    found = values[0].scalar if values else None
    return found if type(found) is int else None


def counted_by(asked: Asked) -> ast.expr | None:
    """What the one `return` of `__len__` of the class gives."""
    classes = [one for one in asked.source.up(asked.node) if isinstance(one, ast.ClassDef)]
    length = method(asked.source, classes[0], "__len__") if classes else None
    returns = [one for one in ast.walk(length) if isinstance(one, ast.Return)] if length else []
    return returns[0].value if len(returns) == 1 else None


def fix(asked: Asked, beyond: Beyond, counts: ast.expr, of_the_whole: bool) -> Fix:
    holder = ast.unparse(asked.base)
    new = f"len({holder}){beyond.text}" if beyond.added else f"len({holder})"
    text = f"Let `__len__` give `{new}`: {beyond.rows - beyond.added:,} rows can be read."
    other = [
        one
        for one in ast.walk(counts)
        if isinstance(one, ast.Call) and called(one) == "len" and ast.unparse(one.args[0]) != holder
    ]
    if other or (beyond.added and not of_the_whole and not takes_from(counts, holder)):
        why_not = "whether rows are missing here or too many are counted only you know"
        return Fix(text, why_not_tried=why_not)
    statement = asked.source.statement_of(asked.node)
    return Fix(
        text,
        replaced(asked.source, counts, new),
        PositionsInside(
            Place(asked.source.file, statement.lineno),
            holder,
            beyond.number,
            beyond.added,
            beyond.rows,
        ),
    )


def takes_from(counts: ast.expr, holder: str) -> bool:
    """`len(self.series) - self.width`: the whole of it, but for a few."""
    wholes = [sign for sign, one in terms_of(counts) if ast.unparse(one) == f"len({holder})"]
    return wholes == [1]
