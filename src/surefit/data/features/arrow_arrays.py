"""Headers of Arrow and Feather files: uncompressed fixed-size lists lie in the file as they are."""

from math import prod
from pathlib import Path
from typing import Any

from surefit.errors import BadInput

from .columns import Column, choose_column, lengths, numpy_dtype
from .faults import unreadable
from .headers import Header, state_of


def arrow_headers(path: Path, name: str) -> tuple[Header, ...]:
    """One for each record batch: within a batch rows follow each other, between them not."""
    import pyarrow as pa

    with path.open("rb") as file:
        state = state_of(file.fileno())
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
        reader = open_arrow(pa.BufferReader(whole))
        column = choose_column(reader.schema, name)
        dtype = numpy_dtype(column, name)
        found = []
        for part, batch in enumerate(batches(reader)):
            if not batch.num_rows:
                continue
            array = checked(batch.column(column.name))
            shape = (batch.num_rows, *row_shape(array, column, name))
            offset = _in_place(array, column, whole, prod(shape), dtype.itemsize)
            found.append(
                Header(
                    *(path, name, shape, dtype, state.size, state.changed_ns, offset),
                    inside=column.name,
                    part=part,
                )
            )
    return tuple(found) or (
        Header(
            *(path, name, (0, *(column.shape or ())), dtype, state.size, state.changed_ns),
            inside=column.name,
            part=0,
        ),
    )


def open_arrow(source: Any) -> Any:
    """Files and Feather by their beginning, else as a stream, as `datasets` stores them."""
    import pyarrow as pa

    begin = source.read(6)
    source.seek(0)
    return (pa.ipc.open_file if begin == b"ARROW1" else pa.ipc.open_stream)(source)


def batches(reader: Any) -> Any:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def checked(array: Any) -> Any:
    """Lengths and offsets of a damaged file can lie; following them would end the process."""
    array.validate(full=True)
    return array


def row_shape(array: Any, column: Column, name: str) -> tuple[int, ...]:
    """Refuses rows of several lengths, and rows that are absent."""
    if array.null_count:
        reason = f"has {array.null_count:,} rows without a value in column `{column.name}`"
        raise BadInput(unreadable(name, reason, "Fill these rows, or leave them out."))
    if column.shape is not None:
        return column.shape
    found = lengths(array)
    if any(len(one) != 1 for one in found):
        told = "; ".join(_several(one) for one in found if len(one) != 1)
        reason = f"has rows of different lengths in column `{column.name}`: {told}"
        fix = "Pad the rows to one length, with a mask in your own code, or leave them out."
        raise BadInput(unreadable(name, reason, fix))
    return tuple(one.pop() for one in found)


def _several(found: set[int]) -> str:
    return f"{min(found)} to {max(found)}" if found else "none"


def _in_place(array: Any, column: Column, whole: Any, values: int, itemsize: int) -> int | None:
    """Where the values lie, unless they were decompressed, have gaps, or are bits."""
    import pyarrow as pa

    if column.shape is None or pa.types.is_boolean(column.value_type):
        return None
    start = 0
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    while pa.types.is_fixed_size_list(array.type):
        start = (start + array.offset) * array.type.list_size
        array = array.values
    if array.null_count or array.buffers()[-1] is None:
        return None
    start = (start + array.offset) * itemsize
    offset = int(array.buffers()[-1].address - whole.address + start)
    inside = offset >= 0 and offset + values * itemsize <= whole.size
    return offset if inside else None
