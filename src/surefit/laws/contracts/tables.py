"""Columns of a table have one length."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Violation
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
    """A table is created from columns of different lengths."""

    lengths: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfMap(ColumnLengths):
    """A function that is mapped over a batch returns another number of rows, and columns of the
    dataset stay beside them."""

    rows: int
    """Given to the function."""

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(name for name, length in self.lengths.items() if length == self.rows)

    @property
    def new(self) -> dict[str, int]:
        return {name: count for name, count in self.lengths.items() if count != self.rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSet(ColumnLengths):
    """A column is set that is longer or shorter than the table."""

    rows: int
    """Of the table; `lengths` has the column alone."""


def violations_of(case: Case) -> Iterator[Violation]:
    frames = case.crash.frames if case.crash is not None else ()
    if case.own is None:
        return
    beyond = frames[frames.index(case.own) + 1 :]
    for frame in beyond:
        if not frame.place.file.startswith(LIBRARIES):
            continue
        if frame.function == SETS:
            yield from set_in_table(case.own, frame)
            return
        lengths = lengths_in(frame) if frame.function in (MAPS, *CREATES) else {}
        if len(set(lengths.values())) > 1:
            rows = rows_given(case.own) if frame.function == MAPS else None
            if rows in lengths.values() and rows is not None:
                yield RowsOfMap(use=use_of(case.own), lengths=lengths, rows=rows)
            else:
                yield ColumnLengths(use=use_of(case.own), lengths=lengths)
            return


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


def rows_given(own: Frame) -> int | None:
    """Rows of a batch of `map`: all of the dataset."""
    tables = [value.length for value in own.values if value.kind == "Dataset"]
    return tables[0] if tables else None


def set_in_table(own: Frame, frame: Frame) -> Iterator[ColumnSet]:
    values = {value.text: value for value in frame.values}
    table, column, name = values.get("self"), values.get("value"), values.get("key")
    length = length_of(column) if column is not None else None
    if table is None or table.length is None or length in (None, table.length) or name is None:
        return
    yield ColumnSet(use=use_of(own), lengths={str(name.scalar): length or 0}, rows=table.length)
