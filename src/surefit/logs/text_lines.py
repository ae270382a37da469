"""Numbers in lines of text: `{'loss': 0.5}`, `loss=0.5`, `val acc: 0.52`, a bar of Lightning."""

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache

from surefit.logs.entries import LogEntry, is_epoch, is_step
from surefit.logs.series import Role, Series

LONGEST = 2_000
"""Characters of a line that are looked at."""
NUMBER = r"[-+]?(?:\d+(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)"
NAME = r"[A-Za-z][\w/@.]*(?:[ -][A-Za-z][\w/@.]*){0,2}"
PAIR = re.compile(
    rf"(?<![\w.])(?P<name>{NAME})\s*(?:[=:]\s*|\s)\s*[\[(]?(?P<number>{NUMBER})"
    rf"(?P<total>\s*/\s*\d+)?(?![\w.]*\w)(?P<percent>\s*%)?",
    re.IGNORECASE,
)
DICTIONARY = re.compile(r"\{[^{}]*\}")


def entries_in(text: str) -> Iterator[LogEntry]:
    for number, line in enumerate(text.splitlines(), start=1):
        shown = line.rpartition("\r")[2] if "\r" in line else line
        numbers = numbers_in(shown[:LONGEST])
        if numbers:
            yield LogEntry(numbers, number)


def numbers_in(line: str) -> dict[str, float]:
    """By name; of a dictionary in the line its own, otherwise pairs of a name and a number."""
    for written in DICTIONARY.findall(line):
        numbers = numbers_of(as_dictionary(written))
        if numbers:
            return numbers | {
                name: value for name, value in pairs_in(line) if is_step(name) or is_epoch(name)
            }
    return dict(pairs_in(line))


def as_dictionary(written: str) -> object:
    """Python's or JSON's; `nan` and `inf` are no literals in Python."""
    for read in (json.loads, with_plain_quotes, ast.literal_eval):
        try:
            return read(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    try:
        return ast.literal_eval(re.sub(r":\s*(-?(?:nan|inf))\b", r": '\1'", written))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def with_plain_quotes(written: str) -> object:
    """What Python prints of texts and numbers; the quickest way for most lines of a log."""
    if '"' in written or "\\" in written:
        raise ValueError(written)
    return json.loads(written.replace("'", '"'))


def numbers_of(entry: object) -> dict[str, float]:
    """What of a dictionary is a number, also one written as text, as the Trainer does."""
    numbers: dict[str, float] = {}
    for name, value in entry.items() if isinstance(entry, dict) else ():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        try:
            numbers[str(name)] = float(value)
        except (ValueError, OverflowError):
            continue
    return numbers


def pairs_in(line: str) -> Iterator[tuple[str, float]]:
    """Names that say what they are: a loss, a rate, a score, a step; other numbers are passed
    over."""
    for pair in PAIR.finditer(line):
        name = known_part(pair["name"])
        if not name:
            continue
        value = float(pair["number"].replace(",", ""))
        yield name, value / 100 if pair["percent"] else value


@lru_cache(maxsize=10_000)
def known_part(name: str) -> str:
    """`then val acc` -> `val acc`: the last words of it that make a name."""
    words = name.split()
    for count in range(min(3, len(words)), 0, -1):
        part = " ".join(words[-count:])
        if is_step(part) or is_epoch(part):
            return part
        series = Series(part, ())
        if series.role is not Role.OTHER and (count < 3 or series.is_evaluation):
            return part
    return ""
