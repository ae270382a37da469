"""Tables and lists of rows that are alive, and the columns of text in which values are missing."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.alive import alive
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import LOOKED_AT, attributes, is_a

MOST_TABLES = 60
MOST_FIRST = 5
MOST_INSIDE = 4
Found = dict[str, Any]


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    found = [*_frames_of_pandas(), *_datasets(), *_lists(frames)]
    names = dict(_named(frames))
    for one in found:
        one["name"] = names.get(one.pop("id"), "")
    return {"tables": found[:MOST_TABLES]}


def _named(frames: Sequence[FrameType]) -> Iterator[tuple[int, str]]:
    """Id -> name, of what frames and the objects in them hold; plain names come last."""
    for inside in _objects(frames):
        yield from ((id(one), f"self.{name}") for name, one in list(inside.items()))
    for frame in frames:
        for names in (frame.f_globals, frame.f_locals):
            yield from ((id(value), name) for name, value in list(names.items()))


def _objects(frames: Sequence[FrameType]) -> Iterator[dict[str, Any]]:
    """What `self` of each frame holds, and the datasets that it, or a loader, holds."""
    for frame in frames:
        found = [frame.f_locals.get("self")]
        found += [
            one for one in list(frame.f_locals.values()) if type(one).__name__ == "DataLoader"
        ]
        for one in found:
            for _ in range(MOST_INSIDE):
                inside = attributes(one)
                yield inside
                one = inside.get("dataset", inside.get("_dataset"))


def _frames_of_pandas() -> Iterator[Found]:
    for frame in alive("pandas", "DataFrame"):
        if frame.size > LOOKED_AT:
            continue
        for column in frame.columns:
            series = frame[column]
            if not is_a(series, "pandas", "Series") or not _is_text(series):
                continue
            missing = series.isna()
            if bool(missing.any()):
                at = [int(number) for number in missing.to_numpy().nonzero()[0][:MOST_FIRST]]
                yield _found(frame, "DataFrame", column, len(series), int(missing.sum()), at)


def _is_text(series: Any) -> bool:
    if str(series.dtype) not in ("object", "str", "string"):
        return False
    return any(type(one) is str for one in series.head(1000))


def _datasets() -> Iterator[Found]:
    seen: set[int] = set()
    for one in alive("datasets.arrow_dataset", "Dataset"):
        arrow = attributes(one).get("_data")
        if arrow is None or id(arrow) in seen or arrow.num_rows > LOOKED_AT:
            continue
        seen.add(id(arrow))
        for column in arrow.column_names:
            values = arrow.column(column)
            if values.null_count and "string" in str(values.type):
                nulls = values.is_null().to_pylist()
                at = [number for number, null in enumerate(nulls) if null][:MOST_FIRST]
                yield _found(one, "Dataset", column, len(nulls), int(values.null_count), at)


def _lists(frames: Sequence[FrameType]) -> Iterator[Found]:
    """Lists of dictionaries that a frame or its `self` holds."""
    held: dict[int, list[Any]] = {}
    everywhere = [names for frame in frames for names in (frame.f_globals, frame.f_locals)]
    for names in (*everywhere, *_objects(frames)):
        held |= {id(one): one for one in list(names.values()) if type(one) is list}
    for rows in held.values():
        if 0 < len(rows) <= LOOKED_AT and all(type(row) is dict for row in rows):
            yield from _columns(rows)


def _columns(rows: list[dict[Any, Any]]) -> Iterator[Found]:
    for column in rows[0]:
        values = [row.get(column) for row in rows]
        at = [number for number, value in enumerate(values) if _is_missing(value)]
        if at and any(type(value) is str for value in values):
            yield _found(rows, "list", column, len(rows), len(at), at[:MOST_FIRST])


def _is_missing(value: Any) -> bool:
    return value is None or (type(value) is float and value != value)


def _found(value: Any, kind: str, column: Any, rows: int, missing: int, first: list[int]) -> Found:
    return {
        "id": id(value),
        "kind": kind,
        "column": str(column),
        "rows": rows,
        "missing": missing,
        "first": first,
    }
