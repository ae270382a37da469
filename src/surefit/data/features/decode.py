"""Rows of a file as values, whatever form they lie in."""

from io import FileIO
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .damaged_files import named
from .faults import unreadable
from .shards import Form, Shard

CHANGED = refusal(
    "SF047",
    "array-has-changed",
    "A file of arrays has changed since its header was read.",
)
IDS_OUT_OF_RANGE = refusal(
    "SF049", "ids-out-of-range", "Packed one-hot rows name features that the layout has not got."
)

Values = NDArray[Any]


def decoded(shard: Shard, first: int, last: int, into: Values) -> None:
    """Rows `first` to `last` (not included), as values, into an array of their shape."""
    if shard.form is Form.DECODED:
        _refuse_changed(shard)
        rows = decode_rows(shard.path, shard.name, shard.inside, shard.part, first, last)
        np.copyto(into, rows.reshape(into.shape), casting="same_kind")
        return
    stored = stored_rows(shard, first, last)
    if shard.form is Form.IDS:
        refuse_ids_out_of_range(shard, stored, first)
        expand_ids(stored, into)
    elif shard.form is Form.BITS:
        expand_bits(stored, into)
    else:
        np.copyto(into, stored, casting="same_kind")


def decoded_together(shard: Shard) -> tuple[tuple[int, int], ...]:
    """Rows, as first and last (not included), that are decoded at once whichever is wanted.

    For forms that are read in place this is every row for itself, told as nothing.
    """
    if shard.form is not Form.DECODED:
        return ()
    if shard.path.suffix.lower() != ".parquet":
        return ((0, shard.rows),)
    from .parquet_arrays import group_rows

    ends = np.cumsum((0, *group_rows(shard.path))).tolist()
    return tuple(pairwise(ends))


def expand_ids(ids: Values, out: Values) -> None:
    """Ids `[rows, steps]` as one-hot rows `[rows, steps, features]`."""
    out[...] = 0
    flat = out.reshape(-1, out.shape[-1])
    flat[np.arange(len(flat)), ids.reshape(-1)] = 1


def expand_bits(bits: Values, out: Values) -> None:
    """Bytes `[rows, bytes of a row]` as rows of zeros and ones `[rows, steps, features]`."""
    out[...] = np.unpackbits(bits, axis=1, count=prod(out.shape[1:])).reshape(out.shape)


def stored_rows(shard: Shard, first: int, last: int) -> Values:
    """Rows as they lie on disk, for forms that are read in place: values, ids or bytes."""
    assert shard.offset is not None
    dtype = np.dtype(shard.stored_dtype or shard.dtype)
    each = shard.stored_row_bytes // dtype.itemsize
    rows = np.empty((last - first, each), dtype)
    _refuse_changed(shard)
    with named(shard.path, shard.name), shard.path.open("rb", buffering=0) as file:
        fill(file, shard.offset + first * shard.stored_row_bytes, rows, shard.name)
    shape = shard.shape if shard.form is Form.PLAIN else (each,)
    return rows.reshape(last - first, *shape)


def fill(file: FileIO, begin: int, values: Values, name: str) -> None:
    """Reads the bytes from `begin` on into an array; says so if the file ends before."""
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    file.seek(begin)
    while left:
        got = file.readinto(left)
        if not got:
            raise BadInput(_ended(name, begin, len(left)))
        begin, left = begin + got, left[got:]


def decode_rows(
    path: Path, name: str, inside: str, part: int | None, first: int, last: int
) -> Values:
    """Rows of a format that must be decoded, `[rows, values of a row]`."""
    with named(path, name):
        return _decode(path, name, inside, part, first, last)


def _decode(path: Path, name: str, inside: str, part: int | None, first: int, last: int) -> Values:
    match path.suffix.lower():
        case ".parquet":
            return _from_parquet(path, name, inside, first, last)
        case ".npz":
            return _from_compressed(path, name, inside, first, last)
        case ".pt" | ".pth":
            from .torch_files import load_tensors

            rows: Values = load_tensors(path, name)[inside].numpy()[first:last]
            return rows.reshape(last - first, -1)
        case _:
            return _from_arrow(path, name, inside, part or 0, first, last)


def _from_parquet(path: Path, name: str, column: str, first: int, last: int) -> Values:
    import pyarrow.parquet as pq

    rows = []
    with pq.ParquetFile(path) as parquet:
        begin = 0
        for group in range(parquet.num_row_groups):
            count = parquet.metadata.row_group(group).num_rows
            if begin < last and first < begin + count:
                table = parquet.read_row_group(group, columns=[column])
                values = _numbers(table.column(0).combine_chunks(), count, name, begin)
                rows.append(values[max(0, first - begin) : last - begin])
            begin += count
    return np.concatenate(rows)


def _from_arrow(path: Path, name: str, column: str, part: int, first: int, last: int) -> Values:
    import pyarrow as pa

    from .arrow_arrays import batches, checked, open_arrow

    # Not mapped: a file that is cut off meanwhile would end the process.
    with pa.OSFile(str(path)) as file:
        for number, batch in enumerate(batches(open_arrow(file))):
            if number == part:
                array = checked(batch.column(column))
                return _numbers(array, batch.num_rows, name, 0)[first:last].copy()
    raise BadInput(unreadable(name, f"has no record batch {part}", "Write the file again."))


def _numbers(array: Any, rows: int, name: str, begin: int) -> Values:
    """A column's values, a line for each row; refuses rows that are absent or of other lengths."""
    import pyarrow as pa

    from .columns import flat, lengths

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    values = flat(array)
    where = f"rows {begin:,} to {begin + rows - 1:,}"
    fix = "Write these rows again, each with as many numbers as the others."
    if values is None:
        raise BadInput(unreadable(name, f"has numbers that are absent (null) in {where}", fix))
    if any(len(one) > 1 for one in lengths(array)):
        raise BadInput(unreadable(name, f"has rows of different lengths in {where}", fix))
    found: Values = values.to_numpy(zero_copy_only=False)
    return found.reshape(rows, -1)


def _from_compressed(path: Path, name: str, member: str, first: int, last: int) -> Values:
    """From the beginning of the member on, in no more memory than the rows take."""
    from .npy_files import read_npy_header

    with ZipFile(path) as archive, archive.open(member) as file:
        found = read_npy_header(file, name)
        row_bytes = prod(found.shape[1:]) * found.dtype.itemsize
        file.seek(found.length + first * row_bytes)
        raw = file.read((last - first) * row_bytes)
    if len(raw) < (last - first) * row_bytes:
        raise BadInput(_ended(name, found.length + first * row_bytes, len(raw)))
    return np.frombuffer(raw, found.dtype).reshape(last - first, -1)


def _refuse_changed(shard: Shard) -> None:
    try:
        state = shard.path.stat()
    except OSError:
        raise BadInput(_changed(shard, "it no longer exists")) from None
    if state.st_size != shard.size:
        said = f"it had {shard.size:,} bytes, and has {state.st_size:,}"
        raise BadInput(_changed(shard, said))
    if state.st_mtime_ns != shard.changed_ns:
        raise BadInput(_changed(shard, "it was written to since"))


def _changed(shard: Shard, what: str) -> Finding:
    return CHANGED.finding(
        Place(shard.name),
        f"`{shard.name}` has changed since its header was read: {what}.",
        why="Rows read from now on would be others than those that were checked.",
        fixes=(Fix("Let nothing write to the data folder while it is read, then start again."),),
    )


def _ended(name: str, begin: int, missing: int) -> Finding:
    return CHANGED.finding(
        Place(name),
        f"`{name}` ended while it was read: {missing:,} bytes are missing at byte {begin:,}.",
        fixes=(Fix("Let nothing write to the data folder while it is read, then start again."),),
    )


def refuse_ids_out_of_range(shard: Shard, ids: Values, first: int) -> None:
    """`first` is the row with which these ids begin."""
    features = shard.shape[-1]
    if not ids.size or (ids.min() >= 0 and ids.max() < features):
        return
    row, step = np.argwhere((ids < 0) | (ids >= features))[0].tolist()
    raise BadInput(
        IDS_OUT_OF_RANGE.finding(
            Place(shard.name),
            f"`{shard.name}` names feature {ids[row, step]} in row {first + row:,}, step {step};"
            f" the layout has {features}, from 0 to {features - 1}.",
            facts=(Fact("packed as", f"ids [{shard.rows:,}, {shard.shape[0]}]"),),
            fixes=(Fix("Pack the folder again, from the rows that it was made of."),),
        )
    )
