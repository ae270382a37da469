"""Rows that cannot be used, gathered into one finding for each fault and field."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import Rule

MOST_PLACES = 20
"""A finding lists so many lines and counts the others."""

MOST_CHARACTERS = 60
"""A longer value is shown shortened."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """What is wrong with one row."""

    place: Place
    rule: Rule
    headline: str
    """A sentence without its place and its full stop."""
    field: str = ""
    facts: tuple[Fact, ...] = ()
    why: str = ""
    fixes: tuple[Fix, ...] = ()
    python_said: str = ""

    def finding(self) -> Finding:
        """For a fault after which the rest of the file cannot be read."""
        return self.rule.finding(
            self.place,
            f"{self.headline}{_on(self.place)}.",
            facts=self.facts,
            why=self.why,
            fixes=self.fixes,
            python_said=self.python_said,
        )


def grouped(bad: Iterable[BadRow], total: int) -> tuple[Finding, ...]:
    """One finding for each rule and field, at its first row; `total` counts good and bad rows."""
    groups: dict[tuple[str, str], list[BadRow]] = {}
    for row in bad:
        groups.setdefault((row.rule.code, row.field), []).append(row)
    return tuple(_finding(group, total) for group in groups.values())


def shown(value: object) -> str:
    """A value as the user would know it, on one line and shortened."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _finding(group: Sequence[BadRow], total: int) -> Finding:
    first = group[0]
    if len(group) == 1:
        headline = f"{first.headline}{_on(first.place)}."
    else:
        headline = f"{first.headline} in {len(group)} of {total} rows, first{_on(first.place)}."
    return first.rule.finding(
        first.place,
        headline,
        facts=(Fact("bad rows", _places(group, total)), *first.facts),
        why=first.why,
        fixes=(*first.fixes, _mend_or_skip(group)),
        python_said=first.python_said,
    )


def _places(group: Sequence[BadRow], total: int) -> str:
    numbers = [str(row.place.line or row.place.row) for row in group]
    word = _word(group[0].place) + ("s" if len(group) > 1 else "")
    listed = f"{len(group)} of {total}: {word} {', '.join(numbers[:MOST_PLACES])}"
    more = len(group) - MOST_PLACES
    return f"{listed} and {more} more" if more > 0 else listed


def _mend_or_skip(group: Sequence[BadRow]) -> Fix:
    word = _word(group[0].place)
    if len(group) == 1:
        return Fix(f"Mend this {word}, or go on without it: `--skip-bad-rows`.")
    return Fix(f"Mend these {word}s, or go on without the {len(group)}: `--skip-bad-rows`.")


def _on(place: Place) -> str:
    if place.line is not None:
        return f" on line {place.line}"
    return f" in row {place.row}" if place.row is not None else ""


def _word(place: Place) -> str:
    return "row" if place.line is None else "line"
