"""The name that a misspelt one was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from re import findall

LONGEST = 200
MOST_NAMES = 5_000
"""Comparing takes time for each of them, and more than that for each letter."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of `names`, whatever its case; None if none is similar."""
    if len(name) > LONGEST:
        return None
    near = (known for known in islice(names, MOST_NAMES) if len(known) <= LONGEST)
    by_lower = {known.lower(): known for known in sorted(near, reverse=True)}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence to stand after another, or nothing."""
    found = nearest(name, names)
    return f" The nearest name is `{found}`." if found else ""


def misspelling_of(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that differs by a slip of the fingers in some of its words, and by no
    other word: `max-token` is `max-tokens`, while `eval-data` is not `data`."""
    if len(name) > LONGEST:
        return None
    own = findall(r"[^-_]+", name.lower())
    among = islice(names, MOST_NAMES)
    near = [(slips, known) for known in among if (slips := _slips(own, known)) is not None]
    return min(near)[1] if near else None


def _slips(own: list[str], known: str) -> int | None:
    """Letters to change, or None where that is another name."""
    words = findall(r"[^-_]+", known.lower())
    if len(words) != len(own):
        return 0 if "".join(own) == "".join(words) else None
    apart = [_distance(*pair) for pair in zip(own, words, strict=True)]
    allowed = [_allowed(*pair) for pair in zip(own, words, strict=True)]
    fits = all(slips <= most for slips, most in zip(apart, allowed, strict=True))
    return sum(apart) if fits else None


def _allowed(typed: str, other: str) -> int:
    """In short words one letter makes another word, unless they begin alike."""
    shorter = min(len(typed), len(other))
    if shorter <= 2:
        return int(typed[:1] == other[:1])
    return 1 if shorter < 6 else 2


def _distance(typed: str, other: str) -> int:
    """Letters to insert, take away, change or swap with the next."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(typed):
        last, row, before = before, [at + 1], row
        for to, its in enumerate(other):
            cost = min(before[to + 1] + 1, row[to] + 1, before[to] + (letter != its))
            if at and to and letter == other[to - 1] and typed[at - 1] == its:
                cost = min(cost, last[to - 1] + 1)
            row.append(cost)
    return row[-1]
