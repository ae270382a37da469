"""Rows that cannot be used, gathered into one finding for each fault and field."""

from collections.abc import Iterable
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Fault:
    """Bad rows of one rule and field: the first of them, where the first few are, and how many."""

    first: BadRow
    numbers: list[str] = field(default_factory=list)
    """At most `MOST_PLACES` lines or rows."""

    count: int = 0

    def add(self, row: BadRow) -> None:
        self.count += 1
        if len(self.numbers) < MOST_PLACES:
            self.numbers.append(_number(row.place))


class BadRows:
    """Bad rows, however many, in the memory of a few: they are counted and the first are kept."""

    def __init__(self, rows: Iterable[BadRow] = ()) -> None:
        self._faults: dict[tuple[str, str], Fault] = {}
        for row in rows:
            self.add(row)

    def __len__(self) -> int:
        return sum(fault.count for fault in self._faults.values())

    def add(self, row: BadRow) -> None:
        self._faults.setdefault((row.rule.code, row.field), Fault(row)).add(row)

    def findings(self, total: int) -> tuple[Finding, ...]:
        """One for each rule and field, at its first row; `total` counts good and bad rows."""
        return tuple(_finding(fault, total) for fault in self._faults.values())


def shown(value: object) -> str:
    """A value as the user would know it, on one line and shortened."""
    text = value if isinstance(value, str) else _repr(value)
    text = text[: 2 * MOST_CHARACTERS]
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _repr(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits; thousands of lists
        return f"a value of type `{type(value).__name__}` that is too long to be shown"


def _finding(fault: Fault, total: int) -> Finding:
    first = fault.first
    if fault.count == 1:
        headline = f"{first.headline}{_on(first.place)}."
    else:
        headline = f"{first.headline} in {fault.count} of {total} rows, first{_on(first.place)}."
    return first.rule.finding(
        first.place,
        headline,
        facts=(Fact("bad rows", _places(fault, total)), *first.facts),
        why=first.why,
        fixes=(*first.fixes, _mend_or_skip(fault)),
        python_said=first.python_said,
    )


def _places(fault: Fault, total: int) -> str:
    word = _word(fault.first.place) + ("s" if fault.count > 1 else "")
    listed = f"{fault.count} of {total}: {word} {', '.join(fault.numbers)}"
    more = fault.count - len(fault.numbers)
    return f"{listed} and {more} more" if more > 0 else listed


def _mend_or_skip(fault: Fault) -> Fix:
    word = _word(fault.first.place)
    if fault.count == 1:
        return Fix(f"Fix this {word}, or skip it: `--skip-bad-rows`.")
    return Fix(f"Fix these {word}s, or skip all {fault.count}: `--skip-bad-rows`.")


def _number(place: Place) -> str:
    return str(place if place.index is not None else place.line or place.row)


def _on(place: Place) -> str:
    if place.index is not None:
        return f" at `{place}`"
    if place.line is not None:
        return f" on line {place.line}"
    return f" in row {place.row}" if place.row is not None else ""


def _word(place: Place) -> str:
    return "row" if place.line is None else "line"
