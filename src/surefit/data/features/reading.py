"""Rows from disk to their final places in batch buffers, without a copy in between."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefit.doctor.findings import Fact, Finding
from surefit.errors import BadInput

from .buffers import Buffers
from .decode import decoded, decoded_together
from .faults import unreadable
from .many_reads import NotHere, many_reads, spare
from .open_files import OpenFiles, changed, refuse_changed
from .permutation import Indices
from .shards import Form, Shard

MOST_PIECES = 1024
"""Places in memory that one call can fill: `IOV_MAX` of Linux and macOS."""

_preadv = ctypes.CDLL(None, use_errno=True).preadv
_preadv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_preadv.restype = ctypes.c_ssize_t


class Rows:
    """Rows of all shards, numbered through."""

    def __init__(self, shards: Sequence[Shard], *, cold: bool = False) -> None:
        self.shards = tuple(shards)
        self.cold = cold
        """Whether they must be expected to come from the disk, and not from the page cache."""

        self.starts = np.cumsum([0, *(shard.rows for shard in shards)])
        self.row_bytes = shards[0].stored_row_bytes
        self.in_place = all(shard.form is not Form.DECODED for shard in shards)
        self._offsets = np.array([shard.offset or 0 for shard in shards])

    def find(self, row: int) -> tuple[Shard, int]:
        """The shard of a row, and its number there."""
        shard = int(self.shards_of(np.array([row]))[0])
        return self.shards[shard], row - int(self.starts[shard])

    def shards_of(self, rows: Indices) -> Indices:
        return np.searchsorted(self.starts, rows, side="right") - 1

    def offsets(self, rows: Indices, shards: Indices) -> Indices:
        """Where rows begin in their files, in bytes."""
        begin: Indices = self._offsets[shards] + (rows - self.starts[shards]) * self.row_bytes
        return begin


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows that lie beside each other on disk, and the pieces of memory they go to.

    Run `i` goes to the pieces from `ends[i]` to `ends[i + 1]`; a piece is an address and a length,
    as `preadv` takes them.
    """

    pieces: NDArray[np.uint64]
    shards: Indices
    rows: Indices
    """The first of each run."""

    offsets: Indices
    """In its file, in bytes."""

    lengths: Indices
    """In bytes."""

    ends: Indices


class Reader:
    """Reads for one thread."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._files = OpenFiles(rows.shards)
        self._groups = Groups()
        self._many = many_reads()

    def read(self, rows: Indices, places: Indices, into: Buffers) -> None:
        """Row `rows[i]` of all shards goes to row `places[i]` of all buffers."""
        if not len(rows):
            return
        runs = _runs(self._rows, rows, into.address + places * into.row_bytes)
        if not self._rows.in_place:
            self._one_by_one(runs)
            return
        for number in np.flatnonzero(self._read_many(runs) != runs.lengths).tolist():
            self._with_care(runs, number)

    def _read_many(self, runs: Runs) -> Indices:
        files = self._files.descriptors(runs.shards)
        if self._rows.cold and files is not None:
            _announce(files, runs)
        if self._many is not None and files is not None:
            try:
                return self._many.read(files, runs.offsets, runs.pieces, runs.ends)
            except NotHere:
                self._many = None
        return self._each(runs)

    def _each(self, runs: Runs) -> Indices:
        """The same with a call for each."""
        address = int(runs.pieces.ctypes.data)
        counts = np.diff(runs.ends)
        columns = (runs.shards, runs.ends[:-1], counts, runs.offsets)
        each = zip(*(column.tolist() for column in columns), strict=True)
        return np.array(
            [
                _preadv(self._files.descriptor(shard), address + 16 * first, count, offset)
                for shard, first, count, offset in each
            ]
        )

    def _one_by_one(self, runs: Runs) -> None:
        for number, shard in enumerate(runs.shards.tolist()):
            if self._rows.shards[shard].form is Form.DECODED:
                self._decode(runs, number)
            else:
                self._with_care(runs, number)

    def close(self) -> None:
        self._files.close()
        if self._many is not None:
            spare(self._many)
            self._many = None

    def _with_care(self, runs: Runs, number: int) -> None:
        """A run that was not read at once: interrupted, cut short, or the file is not whole."""
        shard = self._rows.shards[runs.shards[number]]
        file = self._files.descriptor(int(runs.shards[number]))
        offset = int(runs.offsets[number])
        pieces = runs.pieces[runs.ends[number] : runs.ends[number + 1]].tolist()
        wanted = Fact("wanted", _row_range(self._rows, runs, number))
        try:
            for address, length in pieces:
                missing = _filled(file, offset, memoryview(_memory(address, length)).cast("B"))
                if missing:
                    refuse_changed(shard, file, wanted)
                    said = f"{missing:,} bytes of these rows are missing"
                    raise BadInput(changed(shard, said, wanted))
                offset += length
        except OSError as error:
            raise BadInput(_failed(shard, error, wanted)) from error

    def _decode(self, runs: Runs, number: int) -> None:
        shard, at = self._rows.find(int(runs.rows[number]))
        length = self._rows.row_bytes
        rows = self._groups.rows(shard, at, at + int(runs.lengths[number]) // length)
        for address, size in runs.pieces[runs.ends[number] : runs.ends[number + 1]].tolist():
            ctypes.memmove(address, rows.ctypes.data, size)
            rows = rows[size // length :]


class Groups:
    """Rows of formats that are decoded in groups; the last group is kept."""

    def __init__(self) -> None:
        self._kept: tuple[Shard, int, NDArray[np.generic]] | None = None

    def rows(self, shard: Shard, first: int, last: int) -> NDArray[np.generic]:
        parts = []
        for begin, end in decoded_together(shard):
            if begin < last and first < end:
                group = self._group(shard, begin, end)
                parts.append(group[max(0, first - begin) : last - begin])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _group(self, shard: Shard, begin: int, end: int) -> NDArray[np.generic]:
        if self._kept is not None and self._kept[:2] == (shard, begin):
            return self._kept[2]
        self._kept = None
        rows = np.empty((end - begin, *shard.shape), shard.dtype)
        decoded(shard, begin, end, rows)
        self._kept = (shard, begin, rows)
        return rows


def _announce(files: Indices, runs: Runs) -> None:
    """Has the disk begin with all of it, while the first is waited for."""
    if hasattr(os, "posix_fadvise"):
        each = zip(files.tolist(), runs.offsets.tolist(), runs.lengths.tolist(), strict=True)
        for file, offset, length in each:
            os.posix_fadvise(file, offset, length, os.POSIX_FADV_WILLNEED)


def _runs(table: Rows, rows: Indices, addresses: Indices) -> Runs:
    shards, length = table.shards_of(rows), table.row_bytes
    on_disk = np.ones(len(rows), bool)
    on_disk[1:] = (rows[1:] != rows[:-1] + 1) | (shards[1:] != shards[:-1])
    in_memory = on_disk.copy()
    in_memory[1:] |= addresses[1:] != addresses[:-1] + length
    begins = np.flatnonzero(in_memory)
    pieces = np.empty((len(begins), 2), np.uint64)
    pieces[:, 0] = addresses[begins]
    pieces[:, 1] = _sizes(begins, len(rows)) * length
    firsts = np.flatnonzero(_not_too_long(on_disk[begins]))
    first_rows = begins[firsts]
    return Runs(
        pieces,
        shards[first_rows],
        rows[first_rows],
        table.offsets(rows[first_rows], shards[first_rows]),
        _sizes(first_rows, len(rows)) * length,
        np.append(firsts, len(begins)),
    )


def _sizes(begins: Indices, end: int) -> Indices:
    sizes = np.empty_like(begins)
    sizes[:-1], sizes[-1] = begins[1:] - begins[:-1], end - begins[-1]
    return sizes


def _not_too_long(begins: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Lets runs of more pieces than one call can fill begin again."""
    if len(begins) > MOST_PIECES:
        firsts = np.flatnonzero(begins)
        counts = _sizes(firsts, len(begins))
        for at in np.flatnonzero(counts > MOST_PIECES).tolist():
            begins[firsts[at] : firsts[at] + counts[at] : MOST_PIECES] = True
    return begins


def _filled(file: int, offset: int, left: memoryview) -> int:
    """How many bytes are missing because the file ended; signals do not disturb it."""
    while left:
        got = os.preadv(file, [left], offset)
        if not got:
            return len(left)
        offset, left = offset + got, left[got:]
    return 0


def _memory(address: int, length: int) -> ctypes.Array[ctypes.c_char]:
    return (ctypes.c_char * length).from_address(address)


def _row_range(table: Rows, runs: Runs, number: int) -> str:
    _, first = table.find(int(runs.rows[number]))
    last = first + int(runs.lengths[number]) // table.row_bytes - 1
    return f"row {first:,}" if first == last else f"rows {first:,} to {last:,}"


def _failed(shard: Shard, error: OSError, wanted: Fact) -> Finding:
    why = f"could not be read: {os.strerror(error.errno or 0)}"
    found = unreadable(shard.name, why, "See whether its disk is well.", error)
    return replace(found, facts=(*found.facts, wanted))
