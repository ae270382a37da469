"""Which rows of many are worth measuring against one another: those that share a rare shingle.

Rows made from one long template agree in most of what they say without being twins. But of two
similar sets the larger shares SIMILAR of its shingles and the smaller SIMILAR_IF_SMALLER of its
own, whence one of the rarest of the one is among the rarest of the other (prefix filtering, as in
PPJoin). That holds for any order of shingles, so that frequencies need not be exact.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .row import Row
from .shingles import SIMILAR, codes, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIMILAR_IF_SMALLER = 2 * SIMILAR / (1 + SIMILAR)
"""What share of its shingles a set shares with a similar one that is not smaller."""

ROWS_AT_ONCE = 1000
COUNTERS = 1 << 22
"""Shingles are counted by 22 bits of their numbers; some share a counter."""

ENTRIES_AT_ONCE = 1 << 22
"""Of shingle and row that are sorted together."""


class RareShingles:
    """How frequent shingles are in all rows."""

    def __init__(self, rows: Sequence[Row]) -> None:
        import numpy as np

        self._rows = rows
        self._frequency = np.zeros(COUNTERS, dtype=np.uint32)
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            places = range(begin, min(begin + ROWS_AT_ONCE, len(rows)))
            flat, _ = codes([plain(rows[at].input) for at in places])
            self._frequency += np.bincount(_counter(flat), minlength=COUNTERS).astype(np.uint32)

    def pairs(
        self, bucket: Sequence[int], set_of: Callable[[int], int]
    ) -> Iterator[tuple[int, int]]:
        """Pairs of `bucket` that hold every similar pair of rows not in one set yet.

        `set_of` is asked again as pairs are taken, for sets grow meanwhile.
        """
        shingle, place, indexed, by_size = self._entries(bucket)
        parts = len(shingle) // ENTRIES_AT_ONCE + 1
        for part in range(parts):
            some = (shingle % parts == part).nonzero()[0]
            yield from _sharing(shingle[some], place[some], indexed[some], by_size, set_of)

    def _entries(self, bucket: Sequence[int]) -> "tuple[NDArray[Any], ...]":
        """The rarest shingles of each row and the row's place in the order of sizes; whether it is
        among the rarest also for a row that is the smaller of two; and the rows in that order."""
        import numpy as np

        sizes, counts, rare, indexed = [], [], [], []
        for begin in range(0, len(bucket), ROWS_AT_ONCE):
            texts = [plain(self._rows[at].input) for at in bucket[begin : begin + ROWS_AT_ONCE]]
            size, rarest, is_first = self._rarest(texts)
            sizes.append(size)
            counts.append(_beyond(size, SIMILAR))
            rare.append(rarest)
            indexed.append(is_first)
        order = np.argsort(np.concatenate(sizes), kind="stable")
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        places = np.repeat(place, np.concatenate(counts))
        return np.concatenate(rare), places, np.concatenate(indexed), np.array(bucket)[order]

    def _rarest(self, texts: Sequence[str]) -> "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]":
        """Sizes of the sets, and of each its rarest, in 32 bits, text by text."""
        import numpy as np

        flat, bounds = codes(texts)
        text = np.repeat(np.arange(len(texts)), np.diff(bounds).astype(np.int64))
        order = np.lexsort((flat, self._frequency[_counter(flat)], text))
        flat, text = flat[order], text[order]
        new = np.concatenate([[True], (flat[1:] != flat[:-1]) | (text[1:] != text[:-1])])
        flat, text = flat[new], text[new]
        size = np.bincount(text, minlength=len(texts))
        rank = np.arange(len(flat)) - np.repeat(np.cumsum(size) - size, size)
        kept = rank < _beyond(size, SIMILAR)[text]
        is_first = rank < _beyond(size, SIMILAR_IF_SMALLER)[text]
        return size, flat[kept].astype(np.uint32), is_first[kept]


def _beyond(size: "NDArray[Any]", share: Fraction) -> "NDArray[Any]":
    """So many shingles of a set that another with `share` of all of them holds one."""
    least = -(-size * share.numerator // share.denominator)
    beyond: NDArray[Any] = size - least + 1
    return beyond


def _counter(flat: "NDArray[Any]") -> "NDArray[Any]":
    counter: NDArray[Any] = (flat % COUNTERS).astype("int64")
    return counter


def _sharing(
    shingle: "NDArray[Any]",
    place: "NDArray[Any]",
    indexed: "NDArray[Any]",
    by_size: "NDArray[Any]",
    set_of: Callable[[int], int],
) -> Iterator[tuple[int, int]]:
    """Pairs of rows that share a shingle, the smaller by one of its indexed ones."""
    import numpy as np

    order = np.lexsort((place, shingle))
    shingle, place, indexed = shingle[order], place[order], indexed[order]
    edges = np.concatenate([[0], np.flatnonzero(np.diff(shingle)) + 1, [len(shingle)]])
    several = np.flatnonzero(np.diff(edges) > 1)
    for begin, end in zip(edges[several].tolist(), edges[several + 1].tolist(), strict=True):
        if not indexed[begin:end].any():
            continue
        smaller: dict[int, list[int]] = {}
        rows = by_size[place[begin:end]].tolist()
        for one, is_indexed in zip(rows, indexed[begin:end].tolist(), strict=True):
            for root, others in smaller.items():
                if set_of(root) != set_of(one):
                    yield from ((one, other) for other in others)
            if is_indexed:
                smaller.setdefault(set_of(one), []).append(one)
