"""The name that a misspelt one was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

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
