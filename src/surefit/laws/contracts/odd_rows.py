"""Rows that code takes one by one are alike: the same keys, kinds and shapes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from surefit.doctor.findings import Fact
from surefit.doctor.observations import Value
from surefit.doctor.rule import Unanswered
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import shape_of
from surefit.laws.case import Case, use_of
from surefit.laws.values.failing_values import parts

RAISED = ("ValueError", "TypeError", "AttributeError", "RuntimeError", "IndexError")


@dataclass(frozen=True, slots=True)
class OddRow:
    """A row that is unlike the others, as the crashed process tells."""

    probe: ClassVar[str] = "odd-row"

    frame: int
    text: str
    """What holds the rows: `self.rows`."""
    kind: str
    """`list`, `DataFrame`; `batch` for a list that a collator made of the rows of a batch."""
    rows: int
    at: int
    key: str | int
    """Empty for the row itself."""
    has: str
    usual: str
    usually: int
    """So many rows are as usual."""
    alike: int
    """So many are like the odd one, itself among them."""
    first: list[int]
    texts: list[str]
    alone: bool
    file: str = ""
    line: int = 0

    @property
    def channels(self) -> tuple[int, int] | None:
        """Of the odd picture and of the usual one, where they differ in that alone."""
        (kind, odd), (other, usual) = shape_in(self.has), shape_in(self.usual)
        pictures = len(odd) == len(usual) == 3 and odd[1:] == usual[1:]
        if not pictures or kind != other or not {odd[0], usual[0]} <= {1, 3, 4}:
            return None
        return odd[0], usual[0]


def shape_in(words: str) -> tuple[str, tuple[int, ...]]:
    """`float32 (3, 8, 8)` as data."""
    dtype, _, shape = words.partition(" (")
    sizes = [size.strip() for size in shape.rstrip(")").split(",")]
    return dtype, tuple(int(size) for size in sizes if size.isdigit())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowUnlike(Violation):
    """The row that failed is unlike the others in what the failing expression takes."""

    row: OddRow
    rows: Operand
    """What holds them."""


def row_facts(case: Case) -> Iterator[Fact]:
    """The one row of a batch that is unlike the others, for rules about how rows are stacked."""
    try:
        row = case.ask(OddRow) if case.crash is not None else None
    except Unanswered:
        return
    if row is not None and row.kind == "batch":
        file = f", {Path(row.file).name}:{row.line}" if row.file else ""
        yield Fact(f"row {row.at:,} of the dataset{file}", f"{row.has}, all others {row.usual}")


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    if crash is None or case.own is None or crash.swallowed or crash.kind not in RAISED:
        return
    if crash.in_backward or case.frames[-1].layer is not None:
        return
    row = case.ask(OddRow)
    if row is None or not is_about(case, row):
        return
    held = Value(row.text, row.kind)
    operand = Operand(value=held, name=f"`{row.text}`", frame=row.frame)
    yield RowUnlike(use=use_of(case.own), row=row, rows=operand)


def is_about(case: Case, row: OddRow) -> bool:
    """The odd value is one that the failing expression takes, or one of the rows of a batch that a
    collator stacks."""
    assert case.own is not None
    shape = shape_in(row.has)[1]
    if case.crash is not None and case.crash.collator is not None:
        return bool(shape) or row.has in ("None", "an empty list") or row.kind == "batch"
    for value in parts(case.own):
        if row.has == "None" and value.kind == "NoneType":
            return True
        if isinstance(value.scalar, str) and value.scalar in row.texts:
            return True
        if shape and value.shape is not None and shape_of(value.shape) == shape_of(shape):
            return True
    return False
