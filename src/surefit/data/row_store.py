"""Rows in an Arrow file: written as they are read, and made again when they are asked for."""

import os
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from surefit.doctor.findings import Place

from .arrow_files import ArrowFile, ArrowWriter
from .made import Made
from .row import Row
from .turns import Role, Turn

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 1 << 24
LETTERS: dict[tuple[Role, bool], str] = {
    ("system", True): "s",
    ("user", True): "u",
    ("assistant", True): "a",
    ("tool", True): "t",
}
LETTERS |= {(role, False): letter.upper() for (role, _), letter in LETTERS.items()}
"""A turn's role and whether it is learned."""

TURNS = {letter: key for key, letter in LETTERS.items()}


class StoredRows(Made[Row]):
    """The rows of one file of rows, each made from its bytes whenever it is asked for."""

    def __init__(self, file: ArrowFile) -> None:
        super().__init__(len(file), self._row)
        self.file = file
        self._name = os.fsdecode(file.metadata[b"file"])
        self._in_memory = file.metadata[b"in_memory"] == b"yes"
        self._columns: dict[int, tuple[Any, ...]] = {}

    def _row(self, at: int) -> Row:
        batch, place = self.file.find(at)
        columns = self._columns.get(batch) or self._open(batch)
        numbers, lines, rows, roles, texts, mores, tools = columns
        letters, said, more = roles[place].as_py(), texts[place].as_py(), mores[place].as_py()
        turns = (
            Turn(TURNS[letter][0], text, TURNS[letter][1], json)
            for letter, text, json in zip(letters, said, more or repeat(""), strict=bool(more))
        )
        where = self._place(int(lines[place]), int(rows[place]))
        return Row(int(numbers[place]), where, tuple(turns), tools[place].as_py())

    def _place(self, line: int, row: int) -> Place:
        if self._in_memory:
            return Place(self._name, index=row)
        return Place(self._name, line=line or None, row=row or None)

    def _open(self, batch: int) -> tuple[Any, ...]:
        number, line, row, *texts = self.file.batch(batch).columns
        opened = number.to_numpy(), line.to_numpy(), row.to_numpy(), *texts
        self._columns[batch] = opened
        return opened


class RowWriter:
    """Rows on their way to a file at `path`, or into memory; all are of one source file."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._waiting: list[Row] = []
        self._characters = 0
        self._writer: ArrowWriter | None = None

    def __enter__(self) -> "RowWriter":
        return self

    def add(self, row: Row) -> None:
        self._waiting.append(row)
        self._characters += sum(len(turn.text) for turn in row.turns)
        if len(self._waiting) == ROWS_AT_ONCE or self._characters > CHARACTERS_AT_ONCE:
            self._write()

    def finish(self) -> StoredRows:
        self._write()
        assert self._writer is not None
        return StoredRows(self._writer.finish())

    def _write(self) -> None:
        rows, self._waiting, self._characters = self._waiting, [], 0
        if self._writer is None:
            self._writer = ArrowWriter(_schema(rows[0].place if rows else Place("")), self._path)
        if rows:
            self._writer.add(_batch(rows))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.__exit__(kind, error, trace)


def stored_at(rows: Sequence[Row], folder: Path, name: str = "rows.arrow") -> Path:
    """The file that holds these rows, which another process can open; made there if need be."""
    if isinstance(rows, StoredRows) and rows.file.path is not None:
        return rows.file.path
    path = folder / name
    with RowWriter(path) as writer:
        for row in rows:
            writer.add(row)
        writer.finish()
    return path


def _schema(first: Place) -> "pa.Schema":
    import pyarrow as pa

    columns = [
        pa.field("number", pa.int64()),
        pa.field("line", pa.int64()),
        pa.field("row", pa.int64()),
        pa.field("roles", pa.string()),
        pa.field("texts", pa.list_(pa.string())),
        pa.field("more", pa.list_(pa.string())),
        pa.field("tools", pa.string()),
    ]
    in_memory = "no" if first.index is None else "yes"
    return pa.schema(columns, metadata={"file": os.fsencode(first.file), "in_memory": in_memory})


def _mores(row: Row) -> list[str]:
    """Empty where no turn has more than its text, as nearly always."""
    return [turn.more for turn in row.turns] if any(turn.more for turn in row.turns) else []


def _batch(rows: list[Row]) -> "pa.RecordBatch":
    import pyarrow as pa

    schema = _schema(rows[0].place)
    columns = (
        [row.number for row in rows],
        [row.place.line or 0 for row in rows],
        [row.place.index or row.place.row or 0 for row in rows],
        ["".join(LETTERS[turn.role, turn.learned] for turn in row.turns) for row in rows],
        [[turn.text for turn in row.turns] for row in rows],
        [_mores(row) for row in rows],
        [row.tools for row in rows],
    )
    arrays = [pa.array(values, of.type) for values, of in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)
