"""Many reads in one system call, where Linux has it: what is in the page cache is read at once.

A call for every row costs as much as copying the row, and a thread that comes back from each has
to wait for Python's lock each time. This is the kernel's own interface (`io_submit`): numbers in
arrays, no object for a row.
"""

import ctypes
import errno
import os
import platform
import sys

import numpy as np
from numpy.typing import NDArray

from .permutation import Indices

AT_ONCE = 256
_ROOM = 512

_CALLS = {"x86_64": (206, 208, 209), "aarch64": (0, 4, 2)}
"""Numbers of io_setup, io_getevents, io_submit by machine."""

_REQUEST = np.dtype(
    [
        ("data", "u8"),
        ("key", "u4"),
        ("flags", "u4"),
        ("kind", "u2"),
        ("priority", "i2"),
        ("file", "u4"),
        ("memory", "u8"),
        ("length", "u8"),
        ("offset", "i8"),
        ("reserved", "u8"),
        ("more_flags", "u4"),
        ("event_file", "u4"),
    ]
)
"""`struct iocb`, little-endian."""

_EVENT = np.dtype([("data", "u8"), ("request", "u8"), ("result", "i8"), ("more", "i8")])
_READ, _READ_TO_PIECES = 0, 7

_call = ctypes.CDLL(None, use_errno=True).syscall
_call.argtypes = (ctypes.c_long,) + (ctypes.c_void_p,) * 5
_call.restype = ctypes.c_long


class NotHere(Exception):  # noqa: N818 - it reads as what it is
    """The system does not have it, or does not allow it, or has no more room for it."""


class ManyReads:
    """Requests of one thread; raises `NotHere` where that cannot be.

    The kernel takes 30 ms to end what was set up, so that it is kept for the next reader. It ends
    with the process, and a forked one has none of it.
    """

    def __init__(self) -> None:
        if sys.platform != "linux" or sys.byteorder != "little":
            raise NotHere
        numbers = _CALLS.get(platform.machine())
        if numbers is None:
            raise NotHere
        set_up, self._events_of, self._submit = numbers
        context = ctypes.c_ulong(0)
        if _call(set_up, _ROOM, ctypes.addressof(context), None, None, None) < 0:
            raise NotHere
        self._context = context.value
        self._requests = np.zeros(AT_ONCE, _REQUEST)
        where = self._requests.ctypes.data + _REQUEST.itemsize * np.arange(AT_ONCE)
        self._pointers = where.astype(np.uint64)
        self._events = np.zeros(AT_ONCE, _EVENT)
        self._process = os.getpid()

    @property
    def is_of_this_process(self) -> bool:
        return self._process == os.getpid()

    def read(
        self, files: Indices, offsets: Indices, pieces: NDArray[np.uint64], ends: Indices
    ) -> Indices:
        """How many bytes each read gave, negative for an error's number.

        Read `i` goes to the pieces (address and length) from `ends[i]` to `ends[i + 1]`.
        """
        got = np.empty(len(files), np.int64)
        for begin in range(0, len(files), AT_ONCE):
            some = slice(begin, min(begin + AT_ONCE, len(files)))
            self._fill(files[some], offsets[some], pieces, ends[some.start : some.stop + 1])
            got[some] = self._done(some.stop - some.start)
        return got

    def _fill(
        self, files: Indices, offsets: Indices, pieces: NDArray[np.uint64], ends: Indices
    ) -> None:
        requests = self._requests[: len(files)]
        firsts, counts = ends[:-1], np.diff(ends)
        one = counts == 1
        requests["data"] = np.arange(len(files))
        requests["kind"] = np.where(one, _READ, _READ_TO_PIECES)
        requests["file"] = files
        addresses = pieces.ctypes.data + 16 * firsts
        requests["memory"] = np.where(one, pieces[firsts, 0].astype(np.int64), addresses)
        requests["length"] = np.where(one, pieces[firsts, 1].astype(np.int64), counts)
        requests["offset"] = offsets

    def _done(self, count: int) -> Indices:
        """Submits and waits for all: nothing is written to memory after this."""
        sent = failed = 0
        while sent < count and not failed:
            where = int(self._pointers.ctypes.data) + 8 * sent
            found = _call(self._submit, self._context, count - sent, where, None, None)
            sent, failed = sent + max(0, found), found <= 0
        came, events = 0, int(self._events.ctypes.data)
        while came < sent:
            where = events + _EVENT.itemsize * came
            left = sent - came
            found = _call(self._events_of, self._context, left, left, where, None)
            if found < 0 and ctypes.get_errno() != errno.EINTR:
                raise NotHere
            came += max(0, found)
        if failed:
            raise NotHere
        results = np.empty(count, np.int64)
        results[self._events["data"][:count].astype(np.int64)] = self._events["result"][:count]
        return results


_spare: list[ManyReads] = []


def many_reads() -> ManyReads | None:
    """One that nobody uses, or a new one; None where there is none to be had."""
    while _spare:
        found = _spare.pop()
        if found.is_of_this_process:
            return found
    try:
        return ManyReads()
    except NotHere:
        return None


def spare(one: ManyReads) -> None:
    """Keeps it for the next that asks."""
    _spare.append(one)
