"""Columns of a table have one length."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of

MAPS = "Dataset._map_single"
CREATES = (
    *("ArrowWriter.write_batch", "Dataset.from_dict", "InMemoryTable.from_pydict"),
    *("DataFrame.__init__", "dict_to_mgr"),
)
"""Functions of `datasets` and pandas that are given columns as a mapping."""
LIBRARIES = ("datasets/", "pandas/")
SETS = "DataFrame.__setitem__"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLengths(Violation):
    """A table is created from columns of different lengths, or a column is set that does not have
    the length of the table."""

    lengths: Mapping[str, int]
    columns: Mapping[str, Operand]
    """Those that a frame holds under a name."""
    rows: int | None = None
    """Of a table that is there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfMap(Violation):
    """A function that is mapped over batches returns another number of rows, and columns of the
    dataset stay beside them."""

    rows: int
    """Given to the function."""
    remaining: tuple[str, ...]
    returned: Mapping[str, int]


def violations_of(case: Case) -> Iterator[Violation]:
    if case.own is None:
        return
    first = case.number + 1
    for number, frame in enumerate(case.frames[first:], first):
        if not frame.place.file.startswith(LIBRARIES):
            continue
        if frame.function == SETS:
            yield from set_in_table(case.own, frame, number)
            return
        if frame.function == MAPS:
            yield from mapped(case.own, frame, case.frames[first : number + 1])
            return
        if frame.function in CREATES:
            yield from created(case, case.own, frame, first - 1)
            return


def mapped(own: Frame, frame: Frame, between: tuple[Frame, ...]) -> Iterator[RowsOfMap]:
    lengths = lengths_in(frame)
    tables = [
        value for inner in (own, *between) for value in inner.values if value.kind == "Dataset"
    ]
    old = [name for name in lengths if tables and name in tables[0].members]
    rows = Counter(lengths[name] for name in old).most_common(1)
    if not rows:
        return
    remaining = tuple(name for name in old if lengths[name] == rows[0][0])
    returned = {name: count for name, count in lengths.items() if name not in remaining}
    if set(returned.values()) - {rows[0][0]}:
        yield RowsOfMap(use=use_of(own), rows=rows[0][0], remaining=remaining, returned=returned)


def created(case: Case, own: Frame, frame: Frame, number: int) -> Iterator[ColumnLengths]:
    call = case.node(own)
    columns = {
        str(key.value): Operand(value=value, name=code(value.text), frame=number)
        for display in (call.args if isinstance(call, ast.Call) else ())
        if isinstance(display, ast.Dict)
        for key, node in zip(display.keys, display.values, strict=True)
        for value in own.values
        if isinstance(key, ast.Constant) and value.text == ast.unparse(node)
    }
    known = {name: length_of(operand.value) for name, operand in columns.items()}
    lengths = lengths_in(frame) or {name: count for name, count in known.items() if count}
    if len(set(lengths.values())) > 1:
        yield ColumnLengths(use=use_of(own), lengths=lengths, columns=columns)


def set_in_table(own: Frame, frame: Frame, number: int) -> Iterator[ColumnLengths]:
    table, column, key = frame.value("self"), frame.value("value"), frame.value("key")
    length = length_of(column) if column is not None else None
    if table is None or column is None or key is None or length is None:
        return
    name = str(key.scalar)
    if table.length is not None and length != table.length:
        operand = Operand(value=column, name=code(name), frame=number)
        yield ColumnLengths(
            use=use_of(own), lengths={name: length}, columns={name: operand}, rows=table.length
        )


def lengths_in(frame: Frame) -> dict[str, int]:
    """Of the columns of the first mapping that a frame hands on."""
    for value in frame.values:
        lengths = {name: length_of(member) for name, member in value.members.items()}
        known = {name: length for name, length in lengths.items() if length is not None}
        if value.kind not in ("list", "tuple") and len(known) > 1:
            return known
    return {}


def length_of(value: Value) -> int | None:
    if value.scalar is not None:
        return None
    return value.shape[0] if value.shape else value.length
