"""Texts as sets of shingles: four characters in a row."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIMILAR = Fraction(9, 10)
SHINGLE = 4
MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
"""Odd, and half of their bits set."""


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


def shingles(text: str) -> frozenset[str]:
    return frozenset([text[at : at + SHINGLE] for at in range(max(1, len(text) - SHINGLE + 1))])


def jaccard(one: frozenset[str], other: frozenset[str]) -> Fraction:
    shared = len(one & other)
    return Fraction(shared, len(one) + len(other) - shared)


def codes(texts: Sequence[str]) -> "tuple[NDArray[Any], NDArray[Any]]":
    """The shingles of all texts as numbers of 64 bits, repeated ones repeated, and the bounds of
    each text's own. Different shingles have the same number with a chance of 2**-64."""
    import numpy as np

    after = "\0" * SHINGLE  # a text shorter than a shingle is one by itself
    joined = "".join(f"{text}{after}" for text in texts).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in texts])
    counts = np.maximum(1, lengths - SHINGLE + 1)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    begins = np.concatenate([[0], np.cumsum(lengths + len(after))[:-1]])
    at = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], counts)
    found = np.zeros(len(at), dtype=np.uint64)
    for place, multiplier in enumerate(MULTIPLIERS):
        found = (found ^ found >> np.uint64(29)) + letters[at + place]
        found *= np.uint64(multiplier)
    return found ^ found >> np.uint64(32), bounds.astype(np.uint64)
