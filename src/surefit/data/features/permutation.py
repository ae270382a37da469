"""Permutations that are computed, not kept: the place of any one item, whatever their number.

An index is taken apart into a row and a column of a rectangle that is hardly larger than the
number of items. Each round moves the row by a number that follows from the column, or the column
by one that follows from the row, which can be undone: so no two items come to the same place. An
index that leaves the items goes round again until it is back. Nothing here depends on the version
of NumPy, so that a run can be gone on with under another.
"""

from functools import lru_cache
from math import isqrt

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

ROUNDS = 6
"""Of four, rows of the rectangle still show in the order; of six, nothing does."""

FEW, ROUNDS_OF_FEW = 64, 16
"""Less than so many take more rounds until every order is as likely."""

_MASK = 2**64 - 1
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def key_of(*numbers: int) -> int:
    """One number of 64 bits that differs wherever one of these does."""
    key = 0
    for number in numbers:
        key = _mixed((key + (number & _MASK) + 0x9E3779B97F4A7C15) & _MASK)
    return key


def permuted(indices: Indices, count: int, key: int) -> Indices:
    """Where each of these indices, from 0 to `count` - 1, goes; the key decides how."""
    if count < 2:
        return indices.copy()
    sides = _rectangle(count)
    moved = _once(indices.astype(np.uint64), sides, key)
    while (outside := np.flatnonzero(moved >= count)).size:
        moved[outside] = _once(moved[outside], sides, key)
    return moved.astype(np.int64)


@lru_cache(maxsize=256)
def _rectangle(count: int) -> tuple[int, int]:
    """Rows and columns, nearly as many, of a rectangle with the least room to spare."""
    least = isqrt(count - 1) + 1
    near = range(least, least + 1 + min(64, least // 4))
    columns = min(near, key=lambda one: -count % one)
    return -(-count // columns), columns


def _once(indices: _Words, sides: tuple[int, int], key: int) -> _Words:
    place = list(np.divmod(indices, np.uint64(sides[1])))
    for turn in range(ROUNDS_OF_FEW if sides[0] * sides[1] < FEW else ROUNDS):
        side, other = turn % 2, 1 - turn % 2
        place[side] += _below(sides[side], place[other], key_of(key, turn))
        place[side] -= np.uint64(sides[side]) * (place[side] >= np.uint64(sides[side]))
    moved: _Words = place[0] * np.uint64(sides[1]) + place[1]
    return moved


def _below(side: int, values: _Words, key: int) -> _Words:
    """A number below `side` for each value; a side has less than 32 bits."""
    mixed = (values ^ np.uint64(key)) * _FIRST
    mixed ^= mixed >> _HALF
    mixed *= _SECOND
    mixed >>= _HALF
    mixed *= np.uint64(side)
    mixed >>= _HALF
    return mixed


def _mixed(word: int) -> int:
    """The finish of SplitMix64."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)
