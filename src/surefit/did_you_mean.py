"""The name that a misspelt one was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of `names`, whatever its case; None if none is similar."""
    by_lower = {known.lower(): known for known in sorted(names, reverse=True)}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence to stand after another, or nothing."""
    found = nearest(name, names)
    return f" The nearest name is `{found}`." if found else ""
