"""Batch buffers that are allocated once, lent to users, and used again when nobody holds them."""

import mmap
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


class Buffers:
    """So many buffers of so many rows each, in one stretch of memory.

    What is lent comes back by itself when the array, and every tensor and view that was made of
    it, is gone: a buffer is never written to while somebody can read it. That can happen in any
    thread, at any time, so that nothing here waits for a lock.
    """

    def __init__(self, count: int, rows: int, row_bytes: int, *, pinned: bool = False) -> None:
        self.rows = rows
        self.row_bytes = row_bytes
        self._memory = _allocated(count * rows * row_bytes, pinned).reshape(-1, row_bytes)
        self._free = deque(range(count))
        self._lent: set[int] = set()
        self._pinned = pinned
        self._copies: dict[int, Any] = {}

    @property
    def address(self) -> int:
        """Of the first row of the first buffer; others follow without gaps."""
        return int(self._memory.ctypes.data)

    @property
    def lent(self) -> int:
        return len(self._lent)

    def take(self) -> int:
        """The number of a buffer that nobody uses: the one that was used last, which is likely
        to be in the processor's cache."""
        number = self._free.pop()
        if number in self._copies:
            self._copies.pop(number).synchronize()
        return number

    def give_back(self, number: int) -> None:
        self._free.append(number)

    def of(self, number: int, rows: int) -> NDArray[np.uint8]:
        """The first rows of a buffer as bytes; valid as long as it is taken."""
        return self._memory[number * self.rows : number * self.rows + rows]

    def lend(self, number: int, rows: int, dtype: str, shape: tuple[int, ...]) -> Values:
        """The first rows of a buffer as values, `[rows, *shape]`."""
        values: Values = self.of(number, rows).reshape(-1).view(dtype).reshape(rows, *shape)
        self._lent.add(number)
        weakref.finalize(values, self._returned, number).atexit = False
        return values

    def _returned(self, number: int) -> None:
        if self._pinned:
            self._copies[number] = _copies_to_the_gpu()
        self._lent.discard(number)
        self.give_back(number)


def _allocated(size: int, pinned: bool) -> NDArray[np.uint8]:
    """Memory that costs nothing until it is written to, in large pages where there are any."""
    if pinned:
        import torch

        memory: NDArray[np.uint8] = torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy()
        return memory
    try:
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        mapped = mmap.mmap(-1, max(1, size), flags=private)
    except OSError as error:
        raise MemoryError(size) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, np.uint8, size)


def _copies_to_the_gpu() -> Any:
    """The end of all that was begun by now: a copy that the user did not wait for goes on after
    its tensor is gone."""
    import torch

    return torch.cuda.current_stream().record_event()
