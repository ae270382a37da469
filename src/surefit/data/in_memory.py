"""Rows that are in memory, stored as they are given: one object on a line, read again by index."""

import json
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall

from .arrow_files import room_for
from .csv_files import REPEATED_COLUMN
from .json_files import row_of_line
from .raw import RawRows
from .tables import train_split
from .tool_calls import without_padding

NO_ROWS_IN_IT = refusal(
    "SF139",
    "not-rows",
    "Rows in memory are an iterable of dictionaries, a `datasets.Dataset` or a pandas DataFrame.",
)

ARGUMENT = "data"
"""As what rows in memory are given; a row is told of as `data[390]`."""

ENDING = ".rows"
"""Of files that hold what was in memory."""

STORED = f"data{ENDING}"
"""Such a file in a run folder."""

ROWS_AT_ONCE = 1000


class DataFrameLike(Protocol):
    """A pandas DataFrame, as far as it is known here."""

    @property
    def columns(self) -> Any: ...
    @property
    def iloc(self) -> Any: ...


class DatasetLike(Protocol):
    """A `datasets.Dataset`, as far as it is known here."""

    @property
    def column_names(self) -> Any: ...
    @property
    def features(self) -> Any: ...


GivenRows = str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike
"""What `data` can be in Python: a path or a name, or the rows themselves."""


def store_rows(data: object, path: Path) -> None:
    """Every row on a line of its own; an iterator is used up, a few rows in memory at a time."""
    with room_for(path), path.open("wb") as file:
        for row in rows_of(data):
            file.write(_line(row) + b"\n")


def read_stored(path: Path, name: str) -> RawRows:
    offset = 0
    with path.open("rb") as file:
        for index, line in enumerate(file):
            yield row_of_line(line, Place(name, index=index), offset)
            offset += len(line)


def rows_of(data: object) -> Iterator[object]:
    """The rows of what users have in memory; refuses what has none."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _of_frame(data)
    if library == "datasets" and hasattr(data, "with_format"):
        return _of_dataset(data)
    if isinstance(data, Mapping | str | bytes):
        raise WrongCall(_no_rows(data))
    if isinstance(data, Iterable):
        return iter(data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return (data[at] for at in range(len(data)))
    raise WrongCall(_no_rows(data))


def _of_frame(frame: Any) -> Iterator[object]:
    """What pandas takes for missing is missing."""
    names = [str(name) for name in frame.columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise BadInput(_repeated(repeated, names))
    for begin in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[begin : begin + ROWS_AT_ONCE]
        columns = [
            [None if gone else value for value, gone in zip(part[name], lost, strict=True)]
            for name, lost in part.isna().items()
        ]
        yield from (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _of_dataset(data: Any) -> Iterator[object]:
    """Of several splits the one to train on; nulls that Arrow adds to calls of tools are taken
    out."""
    if isinstance(data, Mapping):
        data = train_split(data, ARGUMENT, Fix('Give one of them:  data["SPLIT"]'))
    if not hasattr(data, "column_names") or not hasattr(data, "__len__"):
        yield from data
        return
    for part in data.with_format(None).iter(ROWS_AT_ONCE):
        for values in zip(*part.values(), strict=True):
            yield without_padding(dict(zip(part, values, strict=True)))


def _line(row: object) -> bytes:
    """What is no dictionary, and what JSON has no word for, is a bad row when it is read."""
    given = dict(row) if isinstance(row, Mapping) else row
    text = json.dumps(given, ensure_ascii=False, default=_plain)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character
        return json.dumps(given, default=_plain).encode()


def _plain(value: Any) -> object:
    """NumPy's numbers and arrays as Python's; of all else, what it is."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return {"a value of the type": type(value).__qualname__}


def _no_rows(data: object) -> Finding:
    kind = type(data).__qualname__
    fixes = [Fix("Give a list of dictionaries, one for each row.")]
    if isinstance(data, Mapping):
        fixes = [Fix("Of a dictionary of columns:  datasets.Dataset.from_dict(data)")]
    return NO_ROWS_IN_IT.finding(
        Place(ARGUMENT),
        f"`{ARGUMENT}` is a `{kind}`, which holds no rows.",
        facts=(
            Fact("taken", "a path, a name, an iterable of dictionaries, a Dataset, a DataFrame"),
        ),
        fixes=fixes,
    )


def _repeated(name: str, names: list[str]) -> Finding:
    return REPEATED_COLUMN.finding(
        Place(ARGUMENT),
        f"The DataFrame has the column `{name}` {names.count(name)} times.",
        facts=(Fact("columns", ", ".join(names)),),
        fixes=(Fix("Give each column a unique name."),),
    )
