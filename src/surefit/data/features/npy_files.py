"""Headers of `.npy` files, checked against the size of the file."""

import warnings
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from surefit.errors import BadInput

from .faults import no_numbers, not_of_its_format, pickled, wrong_size
from .headers import NUMBERS, Header, state_of

LONGEST_HEADER = 1 << 17
"""Bytes; NumPy reads none of more than 10,000."""


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What the first bytes of an array file say."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    length: int
    """Of the header itself, in bytes."""

    @property
    def in_all(self) -> int:
        return self.length + prod(self.shape) * self.dtype.itemsize


def npy_headers(path: Path, name: str) -> tuple[Header, ...]:
    with path.open("rb") as file:
        found = read_npy_header(file, name)
        state = state_of(file.fileno())
    if state.size != found.in_all:
        row_bytes = 0 if found.fortran else prod(found.shape[1:]) * found.dtype.itemsize
        size = (state.size, found.in_all)
        raise BadInput(wrong_size(name, *size, found.shape, found.length, row_bytes))
    return (
        Header(
            path,
            name,
            found.shape,
            found.dtype,
            state.size,
            state.changed_ns,
            found.length,
            fortran=found.fortran,
        ),
    )


def read_npy_header(file: IO[bytes], name: str) -> NpyHeader:
    """Refuses what is no array of numbers; the file is left behind its header."""
    begin = BytesIO(file.read(LONGEST_HEADER))  # a header can promise gigabytes of itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers of Python 2 are read like others
        version = npy.read_magic(begin)
        # Version 3 differs from 2 in names of fields alone, and fields are no numbers.
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(begin)
    if min(shape, default=0) < 0:
        raise BadInput(not_of_its_format(name, "array of NumPy", f"shape {shape}"))
    refuse_no_numbers(name, dtype)
    fortran = fortran and sum(length > 1 for length in shape) > 1  # else the order is the same
    return NpyHeader(shape, fortran, dtype, begin.tell())


def refuse_no_numbers(name: str, dtype: np.dtype) -> None:
    if dtype.hasobject:
        raise BadInput(pickled(name, "holds Python objects (dtype `object`), stored as a pickle"))
    if dtype.kind not in NUMBERS or dtype.itemsize > 8:
        fix = "Store the features as numbers:  np.save(file, rows.astype('float32'))"
        raise BadInput(no_numbers(name, str(dtype), fix))
