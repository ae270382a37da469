"""Changes to a file as plain data, the text they make of it, and the same as a unified diff."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from functools import reduce
from itertools import accumulate

from surefit.source.reading import lines_of, parse
from surefit.source.spans import Span

NO_NEWLINE = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Replace:
    """New text for a span; an empty span is a place to insert at."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to one file, in parts that belong together."""

    file: str
    changes: tuple[Replace, ...]


def both(first: Edit, second: Edit) -> Edit:
    """Two edits of one file as one; what both change alike is changed once."""
    if first.file != second.file:
        raise ValueError(f"one edit is of {first.file}, the other of {second.file}")
    more = tuple(change for change in second.changes if change not in first.changes)
    return Edit(first.file, first.changes + more)


def all_of(edits: Iterable[Edit | None]) -> Edit | None:
    """Several edits of one file as one; None where one of them cannot be made, or there is none."""
    known = list(edits)
    possible = [edit for edit in known if edit is not None]
    return reduce(both, possible) if possible and len(possible) == len(known) else None


def patched(edit: Edit, text: str) -> str:
    """The text after the edit; what no change touches stays as it was, to the character."""
    parts: list[str] = []
    at = 0
    for begin, end, new in sorted(located(edit, text), key=lambda change: change[:2]):
        if begin < at:
            raise ValueError(f"two changes to {edit.file} overlap")
        parts += [text[at:begin], new]
        at = end
    return "".join([*parts, text[at:]])


def located(edit: Edit, text: str) -> Iterator[tuple[int, int, str]]:
    """First and last offset of each change, and its text."""
    lines = [*lines_of(text), ""]
    starts = list(accumulate(map(len, lines), initial=0))

    def offset(line: int, column: int) -> int:
        if not 1 <= line <= len(lines) or not 0 <= column <= len(lines[line - 1].rstrip("\r\n")):
            raise ValueError(f"{edit.file} has no line {line}, column {column}")
        return starts[line - 1] + column

    for change in edit.changes:
        span = change.span
        begin = offset(span.line, span.column)
        yield begin, max(begin, offset(span.end_line, span.end_column)), change.text


def as_diff(edit: Edit, text: str) -> str:
    """A unified diff that `git apply` and `patch -p1` take, in the folder that `file` is seen from.

    Raises `ValueError` where the edit changes nothing or leaves no Python.
    """
    after = patched(edit, text)
    if after == text:
        raise ValueError(f"the edit leaves {edit.file} as it is")
    try:
        parse(after)
    except SyntaxError as error:
        raise ValueError(f"the edit leaves no Python in {edit.file}: {error}") from error
    return difference(edit.file, text, after)


def difference(file: str, before: str, after: str) -> str:
    lines = unified_diff(
        broken_at_newlines(before),
        broken_at_newlines(after),
        header_name(f"a/{file.lstrip('/')}"),
        header_name(f"b/{file.lstrip('/')}"),
    )
    return "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in lines)


def broken_at_newlines(text: str) -> list[str]:
    """Lines as `git` and `patch` know them: a carriage return is a character like any other."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def header_name(name: str) -> str:
    """Quoted where it has quotes or control characters; a tab ends a name with spaces."""
    if any(character in '"\\' or character < " " for character in name):
        escaped = "".join(
            f"\\{character}"
            if character in '"\\'
            else f"\\{ord(character):03o}"
            if character < " "
            else character
            for character in name
        )
        return f'"{escaped}"'
    return name + "\t" if " " in name else name
