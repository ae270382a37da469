"""Names of classes in a column of the rows that a collator was given, and in the whole dataset."""

import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.collators import datasets_in, rows_in
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, mapping

MOST_ROWS, MOST_SECONDS = 5_000, 2.0
MOST_NAMES = 100


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    column = str(about["column"])
    rows, _ = rows_in(frames)
    batch = [name for row in rows if type(name := _part(row, column)) is str]
    if not batch or len(batch) < len(rows):
        return None
    every = next(
        (found for dataset in datasets_in(frames) if (found := _names(dataset, column))), None
    )
    names = sorted({*batch, *(every or ())})
    if len(names) > MOST_NAMES:
        return None
    said: dict[str, Any] = {"batch": batch, "names": names, "complete": every is not None}
    said["numbers"], said["number"], said["listing"] = _numbered(frames, names)
    return said


def _part(row: Any, column: str) -> Any:
    inside = mapping(row)
    if inside is not None:
        return inside.get(column)
    at = int(column) if column.isdigit() else -1
    return row[at] if type(row) in (list, tuple) and 0 <= at < len(row) else None


def _names(dataset: Any, column: str) -> set[str] | None:
    """Of all rows; None where there are too many, or other values among them."""
    table = attributes(dataset).get("_data")
    if column in getattr(table, "column_names", ()):
        found = set(table.column(column).unique().to_pylist())  # type: ignore[union-attr]
    else:
        found = set()
        for row in _rows(dataset):
            found.add(_part(row, column))
            if row is None or len(found) > MOST_NAMES:
                return None
    return found if found and all(type(name) is str for name in found) else None


def _rows(dataset: Any) -> Iterator[Any]:
    """All, as the user's own class gives them; None in place of those beyond the bounds."""
    if not hasattr(type(dataset), "__getitem__") or not hasattr(type(dataset), "__len__"):
        return
    ends = time.monotonic() + MOST_SECONDS
    for number in range(len(dataset)):
        if number >= MOST_ROWS or time.monotonic() > ends:
            yield None
            return
        yield dataset[number]


def _numbered(frames: Sequence[FrameType], names: list[str]) -> tuple[dict[str, int], str, str]:
    """By a dictionary of the user's module, or else by a list of it, that has all names; with what
    the module would write for the number of a name, and for all names in order."""
    tables: dict[str, Any] = {}
    for frame in frames:
        if own_code.own(frame.f_code):
            tables.update(frame.f_globals)
    for name, table in tables.items():
        if is_numbering(table) and set(names) <= set(table):
            listing = f"sorted({name}, key={name}.get)"
            return {one: table[one] for one in names}, f"{name}[{{}}]", listing
    for name, table in tables.items():
        if is_listing(table) and set(names) <= set(table):
            return {one: table.index(one) for one in names}, f"{name}.index({{}})", name
    return {one: number for number, one in enumerate(names)}, "", ""


def is_numbering(table: Any) -> bool:
    """From names to 0, 1, 2 ..., each once."""
    if type(table) is not dict or not 0 < len(table) <= MOST_NAMES:
        return False
    plain = all(type(key) is str and type(number) is int for key, number in table.items())
    return plain and sorted(table.values()) == list(range(len(table)))


def is_listing(table: Any) -> bool:
    if type(table) not in (list, tuple) or not 0 < len(table) <= MOST_NAMES:
        return False
    return all(type(name) is str for name in table) and len(set(table)) == len(table)
