"""The name that a misspelt one was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of `names`, whatever its case; None if none is similar."""
    by_lower = {known.lower(): known for known in sorted(names, reverse=True)}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def misspelt(name: str, names: Iterable[str]) -> str | None:
    """The nearest name that has the same words, misspelt. `eval-data` is not `data` with a slip: a
    word more or less is another meaning."""
    words = _words(name)
    return nearest(name, (other for other in names if not _differ_by_words(words, _words(other))))


def _words(name: str) -> frozenset[str]:
    return frozenset(name.lower().strip("-_").replace("_", "-").split("-"))


def _differ_by_words(typed: frozenset[str], known: frozenset[str]) -> bool:
    return typed < known or known < typed


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence to stand after another, or nothing."""
    found = nearest(name, names)
    return f" The nearest name is `{found}`." if found else ""
