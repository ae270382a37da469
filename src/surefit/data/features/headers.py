"""An array as the header of its file describes it; not yet held against a layout."""

import os
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = "biuf"
"""Kinds of dtypes that are numbers: truth values, integers with and without sign, floats."""


@dataclass(frozen=True, slots=True)
class Header:
    """One array of a file; Arrow files are one for each record batch."""

    path: Path
    name: str
    """As users are told of it: its path from the data folder on."""

    shape: tuple[int, ...]
    """As it is stored; which axis holds the rows is not decided yet."""

    dtype: np.dtype
    """With its byte order."""

    size: int
    """Of the file, in bytes."""

    changed_ns: int
    offset: int | None = None
    """Where the first value lies in the file, in bytes; None where values must be decoded."""

    fortran: bool = False
    """The first axis is the one whose values lie beside each other."""

    inside: str = ""
    """The tensor, column or member, where a file can hold several."""

    part: int | None = None
    """The record batch of an Arrow file, from 0."""

    whole: str = ""
    """Why every read must begin at the beginning of the file, where it must."""

    decoded_bytes: int = 0
    """Of the largest part that is decoded at once, where the file says it."""

    held: NDArray[Any] | None = field(default=None, compare=False)
    """The values themselves, of an array that is in memory and in no file."""

    @property
    def rows(self) -> int:
        return self.shape[0] if self.shape else 0

    @property
    def values(self) -> int:
        return prod(self.shape)

    @property
    def row_bytes(self) -> int:
        return prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def at_once(self) -> int:
        """Bytes in memory of the least that can be read: a row, or all that is decoded together."""
        if self.offset is not None:
            return self.row_bytes
        return self.decoded_bytes or self.values * self.dtype.itemsize

    @property
    def swapped_bytes(self) -> bool:
        """Stored in the other byte order than this machine's."""
        return not self.dtype.isnative


@dataclass(frozen=True, slots=True)
class FileState:
    """Size and time of the last change: a reader finds out by them that a file has changed."""

    size: int
    changed_ns: int


def state_of(opened: int) -> FileState:
    found = os.fstat(opened)
    return FileState(found.st_size, found.st_mtime_ns)


def header_in_memory(name: str, values: NDArray[Any]) -> Header:
    """An array that is in no file, in the terms of those that are."""
    held = np.ascontiguousarray(values)
    return Header(Path(), name, held.shape, held.dtype, held.nbytes, 0, held=held)
