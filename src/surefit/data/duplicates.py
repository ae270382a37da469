"""Rows that are twins: the same answer to the same, or nearly the same, input.

Two inputs are nearly the same if the Jaccard similarity of their shingles is at least 0.9; a
shingle is four characters in a row. Inputs and answers are compared without regard to case and
to the amount of white space. MinHash only proposes pairs; each is then measured exactly.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from .rows import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIMILAR = Fraction(9, 10)
SIMILAR_IF_SMALLER = 2 * SIMILAR / (1 + SIMILAR)
"""What share of its shingles a set shares with a similar one that is not smaller."""
SHINGLE = 4

# Two rows are proposed if all 16 hashes of any one of 40 bands agree. A pair of similarity s is
# missed with probability (1 - s**16) ** 40: 0.0003 at 0.9, less above it. Longer bands propose
# fewer pairs in vain (12 % at 0.7, 1 % at 0.6), more of them find again what those would miss.
BANDS = 40
HASHES = 16
SEED = 1

ROWS_AT_ONCE = 2000
"""Whose shingles and hashes are in memory together."""

SMALL = 16
"""In a bucket of at most so many rows every pair is measured."""


def groups(rows: Sequence[Row]) -> list[list[int]]:
    """Positions in `rows` of those that have a twin: a list for each set of twins, in order."""
    twins = Twins(len(rows))
    inputs = Inputs([_plain(row.input) for row in rows])
    answers = _numbered(_plain(row.target) for row in rows)
    distinct = _join_equal(inputs.texts, answers, twins)
    for bucket in _buckets(distinct, inputs.texts, answers):
        _join_similar(bucket, inputs, twins)
    return twins.sets()


def similarity(one: str, other: str) -> Fraction:
    """Jaccard similarity of the shingles of two texts, between 0 and 1."""
    return _jaccard(_shingles(_plain(one)), _shingles(_plain(other)))


class Twins:
    """Sets of positions that grow together: union-find, with the lowest position as the root."""

    def __init__(self, size: int) -> None:
        self.above = list(range(size))

    def root(self, one: int) -> int:
        while self.above[one] != one:
            self.above[one] = self.above[self.above[one]]
            one = self.above[one]
        return one

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self.above[high] = low

    def among(self, positions: Iterable[int]) -> list[list[int]]:
        """The positions, those of one set together."""
        members: dict[int, list[int]] = {}
        for one in positions:
            members.setdefault(self.root(one), []).append(one)
        return list(members.values())

    def sets(self) -> list[list[int]]:
        return [found for found in self.among(range(len(self.above))) if len(found) > 1]


@dataclass
class Inputs:
    """Texts to measure against one another, and the pairs that were found to be too different."""

    texts: list[str]
    different: set[tuple[int, int]] = field(default_factory=set)
    by_rarity: dict[int, tuple[int, list[str]]] = field(default_factory=dict)

    @cached_property
    def frequency(self) -> Counter[str]:
        """How many texts hold a shingle; counted only if a bucket is too large for all pairs."""
        return Counter(shingle for text in self.texts for shingle in _shingles(text))

    def similar(self, one: int, other: int) -> bool:
        pair = (min(one, other), max(one, other))
        if pair in self.different:
            return False
        if _jaccard(_shingles(self.texts[one]), _shingles(self.texts[other])) >= SIMILAR:
            return True
        self.different.add(pair)
        return False

    def size(self, one: int) -> int:
        return self._by_rarity(one)[0]

    def rarest(self, one: int, share: Fraction) -> list[str]:
        """The rarest shingles, so many that a set with `share` of all of them holds one."""
        size, shingles = self._by_rarity(one)
        return shingles[: _beyond(size, share)]

    def _by_rarity(self, one: int) -> tuple[int, list[str]]:
        """How many shingles there are, and as many of the rarest as `rarest` can ask for."""
        if one not in self.by_rarity:
            shingles = sorted(sorted(_shingles(self.texts[one])), key=self.frequency.__getitem__)
            self.by_rarity[one] = len(shingles), shingles[: _beyond(len(shingles), SIMILAR)]
        return self.by_rarity[one]


def _beyond(size: int, share: Fraction) -> int:
    return size - ceil(share * size) + 1


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@lru_cache(maxsize=ROWS_AT_ONCE)
def _shingles(text: str) -> frozenset[str]:
    return frozenset([text[at : at + SHINGLE] for at in range(max(1, len(text) - SHINGLE + 1))])


def _jaccard(one: frozenset[str], other: frozenset[str]) -> Fraction:
    shared = len(one & other)
    return Fraction(shared, len(one) + len(other) - shared)


def _numbered(values: Iterable[str]) -> list[int]:
    """Equal values get equal numbers."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _join_equal(texts: Sequence[str], answers: Sequence[int], twins: Twins) -> list[int]:
    """Joins equal rows; gives back one of each, unless no other row has its answer."""
    first: dict[tuple[str, int], int] = {}
    for one, key in enumerate(zip(texts, answers, strict=True)):
        twins.join(first.setdefault(key, one), one)
    shared = Counter(answer for _, answer in first)
    return [one for (_, answer), one in first.items() if shared[answer] > 1]


def _buckets(
    distinct: Sequence[int], texts: Sequence[str], answers: Sequence[int]
) -> Iterator[list[int]]:
    """Rows of one answer that agree in all hashes of one band; a pair can be in several buckets."""
    import numpy as np

    if not distinct:
        return
    rows = np.array(distinct)
    answer = np.array(answers)[rows]
    for band in _bands([texts[one] for one in distinct]):
        order = np.lexsort((rows, band, answer))
        differs = (np.diff(answer[order]) != 0) | (band[order][1:] != band[order][:-1])
        edges = [0, *(np.flatnonzero(differs) + 1).tolist(), len(rows)]
        for begin, end in pairwise(edges):
            if end - begin > 1:
                yield rows[order[begin:end]].tolist()


def _bands(texts: Sequence[str]) -> "NDArray[Any]":
    """A number for each band and text, equal where all hashes of the band are equal."""
    import numpy as np
    from rensa import RMinHash

    weights = np.random.default_rng(SEED).integers(1, 2**63, HASHES, dtype=np.uint64)
    mixed = []
    for begin in range(0, len(texts), ROWS_AT_ONCE):
        shingles = [_shingles(text) for text in texts[begin : begin + ROWS_AT_ONCE]]
        matrix = RMinHash.digest_matrix_from_token_sets(shingles, BANDS * HASHES, SEED)
        hashes = np.array(matrix.to_rows(), dtype=np.uint64).reshape(-1, BANDS, HASHES)
        mixed.append((hashes * weights).sum(axis=2, dtype=np.uint64))
    return np.concatenate(mixed).T


def _join_similar(bucket: list[int], inputs: Inputs, twins: Twins) -> None:
    """Measures only pairs that are not joined yet, so that many twins cost little."""
    if len(twins.among(bucket)) == 1:
        return
    if len(bucket) > SMALL:
        _join_by_rare_shingles(bucket, inputs, twins)
        return
    for one, other in combinations(bucket, 2):
        if twins.root(one) != twins.root(other) and inputs.similar(one, other):
            twins.join(one, other)


def _join_by_rare_shingles(bucket: list[int], inputs: Inputs, twins: Twins) -> None:
    """Measures only pairs that share a rare shingle, and loses no similar pair by it.

    Rows made from one long template fill a bucket without being twins. But of two similar sets the
    larger shares SIMILAR of its shingles and the smaller SIMILAR_IF_SMALLER of its own, whence one
    of the rarest of the one is among the rarest of the other (prefix filtering, as in PPJoin).
    """
    holders: dict[str, dict[int, list[int]]] = {}
    for one in sorted(bucket, key=lambda each: (inputs.size(each), each)):
        for shingle in inputs.rarest(one, SIMILAR):
            for root, smaller in holders.get(shingle, {}).items():
                _join_to_any(one, root, smaller, inputs, twins)
        for shingle in inputs.rarest(one, SIMILAR_IF_SMALLER):
            holders.setdefault(shingle, {}).setdefault(twins.root(one), []).append(one)


def _join_to_any(one: int, root: int, others: list[int], inputs: Inputs, twins: Twins) -> None:
    """`others` are all in the set of `root`."""
    if twins.root(one) == twins.root(root):
        return
    if any(inputs.similar(one, other) for other in others):
        twins.join(one, root)
