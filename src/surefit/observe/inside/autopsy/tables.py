"""Tables of pandas and of `datasets` as plain data: rows, columns, and what is missing in them."""

import sys
from typing import Any

from surefit.doctor.observations import Value
from surefit.observe.inside import origins
from surefit.observe.inside.autopsy.values import LOOKED_AT, MOST_MEMBERS, attributes, is_a

DATASETS = "datasets.arrow_dataset"


def table(value: Any, text: str, *, members: bool = True) -> Value | None:
    """None for what is no table; only the libraries' own classes are read."""
    if is_a(value, "pandas", "DataFrame"):
        return _frame(value, text, members)
    if is_a(value, "pandas", "Series"):
        return _series(value, text)
    if is_a(value, "pandas.api.extensions", "ExtensionArray"):
        return Value(
            text, type(value).__name__, id(value), dtype=str(value.dtype), length=len(value)
        )
    if is_a(value, DATASETS, "Dataset"):
        return _dataset(value, text, members)
    if is_a(value, DATASETS, "Column"):
        source = attributes(value).get("source")
        rows = rows_of(source) if is_a(source, DATASETS, "Dataset") else None
        return Value(text, "Column", id(value), length=rows)
    return None


def _frame(frame: Any, text: str, members: bool) -> Value:
    rows = len(frame.index)
    small = members and rows * len(frame.columns) <= LOOKED_AT
    columns = [name for name in frame.columns if type(name) in (str, int)] if small else []
    return Value(
        text,
        "DataFrame",
        id(frame),
        length=rows,
        kinds={str(kind): int(count) for kind, count in frame.dtypes.value_counts().items()},
        members={str(name): _series(frame[name], str(name)) for name in columns[:MOST_MEMBERS]},
        numbered=is_numbered(frame.index),
    )


def _series(series: Any, text: str) -> Value:
    if is_a(series, "pandas", "DataFrame"):  # two columns of one name
        return Value(text, "DataFrame", id(series), length=len(series.index))
    return Value(
        text,
        "Series",
        id(series),
        dtype=str(series.dtype),
        length=len(series.index),
        nones=int(series.isna().sum()) if len(series.index) <= LOOKED_AT else 0,
        numbered=is_numbered(series.index),
    )


def is_numbered(index: Any) -> bool:
    """Its labels are 0, 1, 2... in this order."""
    pandas = sys.modules["pandas"]
    return bool(index.equals(pandas.RangeIndex(len(index))))


def _dataset(dataset: Any, text: str, members: bool) -> Value:
    rows = rows_of(dataset)
    arrow = attributes(dataset).get("_data")
    names = list(getattr(arrow, "column_names", ())) if members and rows <= LOOKED_AT else []
    return Value(
        text,
        type(dataset).__name__,
        id(dataset),
        length=rows,
        members={
            str(name): Value(
                str(name),
                "Column",
                dtype=str(arrow.schema.field(name).type),  # type: ignore[union-attr]
                length=rows,
                nones=missing_in(dataset, name),
            )
            for name in names[:MOST_MEMBERS]
        },
        made_at=origins.made_at(dataset),
    )


def rows_of(dataset: Any) -> int:
    """Of those that it picks from its table, where it does."""
    picked, arrow = attributes(dataset).get("_indices"), attributes(dataset).get("_data")
    return int(getattr(picked if picked is not None else arrow, "num_rows", 0))


def missing_in(dataset: Any, name: str) -> int:
    arrow, picked = attributes(dataset)["_data"], attributes(dataset).get("_indices")
    column = arrow.column(name)
    if picked is not None and column.null_count:
        column = column.take(picked.column(0))
    return int(column.null_count)
