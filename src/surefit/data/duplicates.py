"""Rows that are twins: the same answer to the same, or nearly the same, input.

Two inputs are nearly the same if the Jaccard similarity of their shingles is at least 0.9; a
shingle is four characters in a row. Inputs and answers are compared without regard to case and
to the amount of white space. MinHash only proposes pairs; each is then measured exactly.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .rare_shingles import RareShingles
from .row import Row
from .shingles import SIMILAR, codes, jaccard, plain, shingles

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SIMILAR", "groups", "similarity"]

# Two rows are proposed if all 16 hashes of any one of 40 bands agree. A pair of similarity s is
# missed with probability (1 - s**16) ** 40: 0.0003 at 0.9, less above it. Longer bands propose
# fewer pairs in vain (12 % at 0.7, 1 % at 0.6), more of them find again what those would miss.
# 25 bands of 12 miss as little in 0.7 of the time, but put six times as many rows that share
# three quarters of a template side by side.
BANDS = 40
HASHES = 16
SEED = 1

ROWS_AT_ONCE = 1000
"""Whose shingles and hashes are in memory together."""

SMALL = 16
"""In a bucket of at most so many rows every pair is measured."""

LARGE = 6
"""Where a bucket holds more than one in so many of the rows of its answer, other bands would gather
the most of them again: all rows of that answer are compared once instead of 40 parts of them."""

CODES_KEPT = 1 << 23
"""Shingles of rows that are measured, in memory at once; eight bytes each."""

PAIRS_KEPT = 1 << 18


def groups(rows: Sequence[Row], each: Callable[[int], object] = lambda _: None) -> list[list[int]]:
    """Positions in `rows` of those that have a twin: a list for each set of twins, in order.

    `each` is told how many rows were searched since it was last called.
    """
    import numpy as np

    twins = Twins(len(rows))
    distinct, answers = _join_equal(rows, twins)
    each(len(rows) - len(distinct))
    inputs = Inputs(rows)
    with_answer = np.bincount(answers[distinct])
    settled = np.zeros(len(with_answer), dtype=bool)
    for band in _bands(rows, distinct, each):
        for bucket in _buckets(distinct, answers, band, settled):
            answer = answers[bucket[0]]
            if len(bucket) > SMALL and len(bucket) * LARGE > with_answer[answer]:
                settled[answer] = True
                bucket = distinct[answers[distinct] == answer].tolist()
            inputs.join_similar(bucket, twins)
    return twins.sets()


def similarity(one: str, other: str) -> Fraction:
    """Jaccard similarity of the shingles of two texts, between 0 and 1."""
    return jaccard(shingles(plain(one)), shingles(plain(other)))


class Twins:
    """Sets of positions that grow together: union-find, with the lowest position as the root."""

    def __init__(self, size: int) -> None:
        self.above = array("q", range(size))

    def root(self, one: int) -> int:
        while self.above[one] != one:
            self.above[one] = self.above[self.above[one]]
            one = self.above[one]
        return one

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self.above[high] = low

    def are_one(self, positions: Iterable[int]) -> bool:
        return len({self.root(one) for one in positions}) == 1

    def sets(self) -> list[list[int]]:
        """Those of more than one position, in the order of their lowest."""
        members: dict[int, list[int]] = {}
        for one, above in enumerate(self.above):
            if one != above:
                root = self.root(one)
                members.setdefault(root, [root]).append(one)
        return [members[root] for root in sorted(members)]


class Inputs:
    """The inputs of rows, to measure against one another; few of them are in memory."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.similar = lru_cache(maxsize=PAIRS_KEPT)(self._similar)
        self.rare: RareShingles | None = None
        self._codes: dict[int, NDArray[Any]] = {}
        self._held = 0

    def _similar(self, low: int, high: int) -> bool:
        import numpy as np

        one, other = self._codes_of(low), self._codes_of(high)
        shared = len(np.intersect1d(one, other, assume_unique=True))
        every = len(one) + len(other) - shared
        return shared * SIMILAR.denominator >= every * SIMILAR.numerator

    def _codes_of(self, at: int) -> "NDArray[Any]":
        import numpy as np

        if at not in self._codes:
            if self._held > CODES_KEPT:
                self._codes.clear()
                self._held = 0
            self._codes[at] = np.unique(codes([plain(self.rows[at].input)])[0])
            self._held += len(self._codes[at])
        return self._codes[at]

    def join_similar(self, bucket: list[int], twins: Twins) -> None:
        """Measures only pairs that are not joined yet, so that many twins cost little."""
        if twins.are_one(bucket):
            return
        pairs: Iterable[tuple[int, int]] = combinations(bucket, 2)
        if len(bucket) > SMALL:
            self.rare = self.rare or RareShingles(self.rows)
            pairs = self.rare.pairs(bucket, twins.root)
        for one, other in pairs:
            if twins.root(one) != twins.root(other) and self.similar(
                min(one, other), max(one, other)
            ):
                twins.join(one, other)


def _join_equal(rows: Sequence[Row], twins: Twins) -> "tuple[NDArray[Any], NDArray[Any]]":
    """Joins equal rows; gives back one of each, unless no other row has its answer, and a number
    for the answer of every row.

    Texts are known by 128 bits of them: that two of 10**9 agree has a chance of 10**-21.
    """
    import numpy as np

    known = np.empty((len(rows), 2), dtype="V16")
    for at, row in enumerate(rows):
        asked, answer = _digest(plain(row.input)), _digest(plain(row.target))
        known[at] = _digest_of(asked + answer), answer
    _, first, same = np.unique(known[:, 0], return_index=True, return_inverse=True)
    for at in np.flatnonzero(first[same] != np.arange(len(rows))).tolist():
        twins.join(int(first[same[at]]), at)
    _, answers = np.unique(known[:, 1], return_inverse=True)
    first.sort()
    shared = np.bincount(answers[first], minlength=1) > 1
    return first[shared[answers[first]]], answers


def _digest(text: str) -> bytes:
    return _digest_of(text.encode("utf-8", "surrogatepass"))


def _digest_of(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _bands(
    rows: Sequence[Row], distinct: "NDArray[Any]", each: Callable[[int], object]
) -> "NDArray[Any]":
    """A number for each band and row, equal where all hashes of the band are equal.

    32 bits of it are kept: where they agree by chance, rows are proposed in vain.
    """
    import numpy as np
    from rensa import RMinHash

    weights = np.random.default_rng(SEED).integers(1, 2**63, HASHES, dtype=np.uint64)
    mixed = np.empty((BANDS, len(distinct)), dtype=np.uint32)
    for begin in range(0, len(distinct), ROWS_AT_ONCE):
        some = distinct[begin : begin + ROWS_AT_ONCE].tolist()
        flat, ends = codes([plain(rows[at].input) for at in some])
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, ends, BANDS * HASHES, SEED)
        hashes = np.array(matrix.to_rows(), dtype=np.uint64).reshape(-1, BANDS, HASHES)
        sums = (hashes * weights).sum(axis=2, dtype=np.uint64) >> np.uint64(32)
        mixed[:, begin : begin + len(some)] = sums.T
        each(len(some))
    return mixed


def _buckets(
    distinct: "NDArray[Any]",
    answers: "NDArray[Any]",
    band: "NDArray[Any]",
    settled: "NDArray[Any]",
) -> Iterator[list[int]]:
    """Rows of one answer that agree in a band, but for answers that are settled by now."""
    import numpy as np

    key = answers[distinct].astype(np.uint64) << np.uint64(32) | band
    order = np.argsort(key, kind="stable")
    edges = np.concatenate([[0], np.flatnonzero(np.diff(key[order])) + 1, [len(key)]])
    several = np.flatnonzero(np.diff(edges) > 1)
    for begin, end in zip(edges[several].tolist(), edges[several + 1].tolist(), strict=True):
        bucket = distinct[order[begin:end]]
        if not settled[answers[bucket[0]]]:
            yield bucket.tolist()
