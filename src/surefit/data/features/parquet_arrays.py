"""Headers of Parquet files: rows are decoded by row group."""

from pathlib import Path
from typing import Any

from .arrow_arrays import row_shape
from .columns import Column, choose_column, numpy_dtype
from .headers import Header, state_of


def parquet_headers(path: Path, name: str) -> tuple[Header, ...]:
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        state = state_of(file.fileno())
    with pq.ParquetFile(path) as parquet:
        column = choose_column(parquet.schema_arrow, name)
        dtype = numpy_dtype(column, name)
        rows = parquet.metadata.num_rows
        shape = (rows, *_row_shape(parquet, column, name, rows))
        largest = _largest_group(parquet.metadata)
    return (
        Header(
            *(path, name, shape, dtype, state.size, state.changed_ns),
            inside=column.name,
            decoded_bytes=largest,
        ),
    )


def _largest_group(metadata: Any) -> int:
    """In bytes, decompressed; dictionaries and runs make it more."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return max((int(group.total_byte_size) for group in groups), default=0)


def group_rows(path: Path) -> tuple[int, ...]:
    """How many rows each row group has."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    return tuple(metadata.row_group(one).num_rows for one in range(metadata.num_row_groups))


def _row_shape(parquet: Any, column: Column, name: str, rows: int) -> tuple[int, ...]:
    """Of the first row, where the schema leaves it open; others are checked as they are decoded."""
    if column.shape is not None or not rows:
        return column.shape or ()
    first = next(parquet.iter_batches(1, columns=[column.name]))
    return row_shape(first.column(0), column, name)
