"""The row that was at work when an exception came, if it is unlike the others, and where it is
written.

Rows are looked at where they are stored, in lists and tables that frames and datasets hold; no code
of the user's is run.
"""

import csv
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor, mapping

LEAST_ROWS = 4
MOST_ROWS = 200_000
MOST_SHARE = 0.2
"""Of the rows that may be odd; more of them are a second kind of row."""
SECONDS = 0.4
MOST_FIRST = 5
MOST_BYTES = 64 << 20
TEXT_FILES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt")
WHOLE = ""
"""In place of a key: the row itself."""


@dataclass(frozen=True)
class Table:
    """Rows that are stored somewhere."""

    frame: int
    text: str
    """The expression for it in that frame: `self.rows`."""
    rows: Sequence[Any]
    alone: bool
    """Nothing beside it is as long, so that a row can be left out of it."""
    kind: str = "list"


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    ends = time.monotonic() + SECONDS
    tables = list(_tables(frames))
    for found in (*_rows_at_work(frames, tables), *_rows_of_a_batch(frames, tables)):
        said = _told(*found, frames, ends)
        if said is not None:
            return said
        if time.monotonic() > ends:
            break
    return _in_the_batch_alone(frames)


def _tables(frames: Sequence[FrameType]) -> Iterator[Table]:
    """Of the user's frames and of the objects in them, innermost first; then of datasets."""
    seen: set[int] = set()
    for number, frame in reversed(list(enumerate(frames))):
        own = own_code.own(frame.f_code)
        holders = [("", frame.f_locals)] if own else []
        this = frame.f_locals.get("self")
        if own or frame.f_code.co_name == "fetch":
            holders.append(("self.", attributes(this)))
            inside = attributes(this).get("dataset")
            holders.append(("self.dataset.", attributes(inside)))
        if own:
            holders.append(("", frame.f_globals))
        for prefix, names in holders:
            yield from _held(number, prefix, names, seen)


def _held(number: int, prefix: str, names: Any, seen: set[int]) -> Iterator[Table]:
    values = {name: value for name, value in list(names.items()) if not name.startswith("__")}
    lengths = Counter(length for value in values.values() if (length := _length(value)) is not None)
    for name, value in values.items():
        length = _length(value)
        if length is None or not LEAST_ROWS <= length <= MOST_ROWS or id(value) in seen:
            continue
        rows, kind = _stored(value)
        if rows is not None:
            seen.add(id(value))
            yield Table(number, f"{prefix}{name}", rows, lengths[length] == 1, kind)


def _length(value: Any) -> int | None:
    if type(value) in (list, tuple):
        return len(value)
    if is_a(value, "pandas", "DataFrame"):
        return len(value.index)
    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
        return int(value.shape[0]) if len(value.shape) else None
    return None


def _stored(value: Any) -> tuple[Sequence[Any] | None, str]:
    if type(value) in (list, tuple):
        return value, "list"
    if is_a(value, "pandas", "DataFrame"):
        return value.to_dict("records"), "DataFrame"
    return None, ""


Found = tuple[Table, int]


def _rows_at_work(frames: Sequence[FrameType], tables: Sequence[Table]) -> Iterator[Found]:
    """A row that a frame of the user's holds, or whose number it was called with."""
    for frame in reversed(frames):
        if not own_code.own(frame.f_code):
            continue
        code, names = frame.f_code, frame.f_locals
        held = [value for value in names.values() if mapping(value) is not None or _is_row(value)]
        for table in tables:
            for value in held:
                if value is not table.rows:
                    yield from ((table, at) for at in _positions(table.rows, value)[:1])
        numbers = [names.get(name) for name in code.co_varnames[: code.co_argcount]]
        for number in numbers:
            if type(number) is int:
                yield from (
                    (table, number)
                    for table in tables
                    if 0 <= number < len(table.rows) and table.text.startswith("self.")
                )


def _is_row(value: Any) -> bool:
    return type(value) in (list, tuple) or is_tensor(value) or is_a(value, "numpy", "ndarray")


def _positions(rows: Sequence[Any], value: Any) -> list[int]:
    return [at for at, row in enumerate(rows) if row is value]


def _asked(frames: Sequence[FrameType]) -> tuple[list[int], list[Any]]:
    """Numbers in the dataset, and the rows that it gave, as the loader's fetcher has them."""
    for frame in frames:
        if frame.f_code.co_name == "fetch" and "torch" in frame.f_code.co_filename:
            asked, rows = frame.f_locals.get("possibly_batched_index"), frame.f_locals.get("data")
            if type(asked) is list and type(rows) is list and len(asked) == len(rows):
                return [at for at in asked if type(at) is int], rows
    return [], []


def _rows_of_a_batch(frames: Sequence[FrameType], tables: Sequence[Table]) -> Iterator[Found]:
    """Rows of the batch, each of which may be the odd one."""
    asked, _ = _asked(frames)
    for table in tables:
        yield from ((table, at) for at in asked if at < len(table.rows))


def _told(table: Table, at: int, frames: Sequence[FrameType], ends: float) -> Said:
    """What tells a row from the others; None where nothing does."""
    row = table.rows[at]
    for key, value in _items(row):
        kinds = Counter[str]()
        alike: list[int] = []
        has = _kind(value)
        for number, other in enumerate(table.rows):
            kind = _kind(_item(other, key))
            kinds[kind] += 1
            if kind == has:
                alike.append(number)
            if number % 1000 == 0 and time.monotonic() > ends:
                return None
        usual, count = kinds.most_common(1)[0]
        rare = len(alike) <= max(1, MOST_SHARE * len(table.rows))
        if usual != has and rare and count >= (1 - MOST_SHARE) * len(table.rows):
            odd = [_item(table.rows[number], key) for number in alike]
            file, line = _written(row, at, len(table.rows), frames)
            return {
                "frame": table.frame,
                "text": table.text,
                "kind": table.kind,
                "rows": len(table.rows),
                "at": at,
                "key": key if type(key) in (str, int) else str(key),
                "has": has,
                "usual": usual,
                "usually": count,
                "alike": len(alike),
                "first": alike[:MOST_FIRST],
                "texts": sorted({item for item in odd if type(item) is str})[:MOST_FIRST],
                "alone": table.alone,
                "file": file,
                "line": line,
            }
    return None


def _in_the_batch_alone(frames: Sequence[FrameType]) -> Said:
    """A list that the collator made of the batch, with a single odd item: its row is the one."""
    asked, rows = _asked(frames)
    for number, frame in reversed(list(enumerate(frames))):
        if not own_code.own(frame.f_code) or len(rows) < 3:
            continue
        for name, value in frame.f_locals.items():
            if type(value) is not list or len(value) != len(rows) or len(asked) != len(rows):
                continue
            kinds = Counter(map(_kind, value))
            usual, count = kinds.most_common(1)[0]
            odd = [at for at, item in enumerate(value) if _kind(item) != usual]
            if len(kinds) != 2 or len(odd) != 1 or count < 2:
                continue
            file, line = _written(rows[odd[0]], asked[odd[0]], 0, frames)
            return {
                "frame": number, "text": name, "kind": "batch", "rows": len(rows),
                "at": asked[odd[0]], "key": WHOLE, "has": _kind(value[odd[0]]), "usual": usual,
                "usually": count, "alike": 1, "first": [asked[odd[0]]], "texts": [],
                "alone": False, "file": file, "line": line,
            }  # fmt: skip
    return None


def _items(row: Any) -> Iterator[tuple[Any, Any]]:
    inside = mapping(row)
    if inside is not None:
        yield from inside.items()
    elif type(row) is tuple or (type(row) is list and len(row) <= 64):
        yield from enumerate(row)
    yield WHOLE, row


def _item(row: Any, key: Any) -> Any:
    if key == WHOLE and type(key) is str:
        return row
    inside = mapping(row)
    if inside is not None:
        return inside.get(key)
    return row[key] if type(row) in (list, tuple) and type(key) is int and key < len(row) else None


def _kind(value: Any) -> str:
    """In words, equal for rows that are alike."""
    if value is None:
        return "None"
    if type(value) is float and value != value:
        return "nan"
    if type(value) is str:
        return _kind_of_text(value)
    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
        shape = tuple(int(size) for size in value.shape)
        return f"{str(value.dtype).removeprefix('torch.')} {shape}"
    if type(value) in (list, tuple):
        return "a list" if value else "an empty list"
    return f"a {type(value).__name__}"


def _kind_of_text(text: str) -> str:
    if not text.strip():
        return "an empty text"
    try:
        float(text)
    except ValueError:
        return "a text"
    return "a number"


def _written(row: Any, at: int, count: int, frames: Sequence[FrameType]) -> tuple[str, int]:
    """The file and the line that has the row, among text files that the script names."""
    inside = mapping(row)
    plain = inside if inside is not None else row
    for path in dict.fromkeys(_files(frames)):
        try:
            if os.path.getsize(path) <= MOST_BYTES:
                line = _line_of(path, plain, at, count)
                if line:
                    return os.path.abspath(path), line
        except (OSError, UnicodeDecodeError, csv.Error):
            continue
    return "", 0


def _files(frames: Sequence[FrameType]) -> Iterator[str]:
    for frame in frames:
        if own_code.own(frame.f_code):
            held = [*frame.f_locals.values(), *frame.f_globals.values()]
            texts = [*map(_path, held), *_constants(frame.f_code)]
            yield from (text for text in texts if text.endswith(TEXT_FILES))


def _path(value: Any) -> str:
    kind = type(value).__name__
    return value if type(value) is str else str(value) if kind.endswith("Path") else ""


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if type(constant) is str:
            yield constant
        elif isinstance(constant, CodeType):
            yield from _constants(constant)


def _line_of(path: str, row: Any, at: int, count: int) -> int:
    with open(path, encoding="utf-8", newline="") as file:
        if path.endswith((".jsonl", ".ndjson", ".json")):
            for number, line in enumerate(file, 1):
                if line.strip() and _as_json(line) == row:
                    return number
            return 0
        if path.endswith(".txt"):
            return next((n for n, line in enumerate(file, 1) if line.rstrip("\r\n") == row), 0)
        reader = csv.reader(file, delimiter="\t" if path.endswith(".tsv") else ",")
        values = list(row.values()) if type(row) is dict else row
        lines = [(reader.line_num, cells) for cells in reader]
    exact = [number for number, cells in lines if cells == values]
    if exact:
        return exact[0]
    known = type(row) is dict and len(lines) == count + 1 and at + 1 < len(lines)
    return lines[at + 1][0] if known and list(row) == lines[0][1] else 0


def _as_json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
