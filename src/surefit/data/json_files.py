"""Raw rows of JSON Lines and of JSON files, each with the line on which it begins."""

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.user_files import bounded_lines, open_plain, read_plain

from .bad_rows import BadRow, shown
from .encoding import decoded, refuse_other_marks
from .json_lists import ELEMENT, SPACE, NotAList, list_elements
from .raw import RawRow, RawRows

INVALID_JSON = refusal(
    "SF105",
    "invalid-json",
    "A `.jsonl` file holds one JSON object on each line, a `.json` file one list of objects.",
)
NOT_AN_OBJECT = refusal(
    "SF106",
    "not-an-object",
    "A row must be a JSON object with named columns.",
)
REPEATED_KEY = refusal(
    "SF107",
    "repeated-key",
    "An object that holds a key twice has two values for one column; most readers take the last "
    "without a word.",
)
NO_LIST_OF_ROWS = refusal(
    "SF108",
    "no-list-of-rows",
    "A `.json` file must hold a list of objects, or an object with exactly one list.",
)

LINE = msgspec.json.Decoder()
LARGEST_WHOLE = 1 << 28
"""Bytes of a file that is no list, or a broken one: only a list is read a piece at a time."""
FEW_KEYS = 50
"""To look for each in the whole line is fast for so many, and endless for thousands."""
TYPES = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list"}


def read_json_lines(path: Path, name: str) -> RawRows:
    """Blank lines and a UTF-8 mark are passed over."""
    offset = 0
    with open_plain(path) as file:
        for number, line in enumerate(bounded_lines(file), start=1):
            if number == 1:
                refuse_other_marks(line, name)
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if content.strip():
                start = offset + len(line) - len(content)
                yield row_of_line(content, Place(name, line=number), start)
            offset += len(line)


def read_json(path: Path, name: str) -> RawRows:
    """A list is read element by element, anything else whole; a file that turns out to hold an
    object on each line is read as such."""
    given = 0
    try:
        for line, value in list_elements(path):
            yield _row(value, Place(name, line=line))
            given += 1
    except (NotAList, ValueError, RecursionError):
        # The whole text is needed to say where the fault is.
        yield from islice(_rows_of_whole(path, name), given, None)


def _rows_of_whole(path: Path, name: str) -> RawRows:
    text = _whole_text(path, name)
    start = _past_space(text, 0)
    try:
        if text[start : start + 1] == "{":
            _, end = ELEMENT.raw_decode(text, start)
            if text[end:].strip():
                yield from read_json_lines(path, name)
                return
            start = _only_list(text, start, name)
        yield from _rows_of_list(text, start, name)
    except json.JSONDecodeError as error:
        raise BadInput(_invalid(error, Place(name, line=error.lineno)).finding()) from None
    except (ValueError, RecursionError) as error:  # an integer or lists that Python will not hold
        raise BadInput(_invalid(error, Place(name)).finding()) from None


def row_of_line(line: bytes, place: Place, offset: int) -> RawRow | BadRow:
    try:
        value = LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _row_of_odd_line(line, place, offset)
    if isinstance(value, dict):
        twice = _repeated_key(line, value)
        return _said_twice(twice, place) if twice else RawRow(place, value)
    return _not_an_object(value, place)


def _row_of_odd_line(line: bytes, place: Place, offset: int) -> RawRow | BadRow:
    """For what msgspec refuses: the standard decoder knows the column, and takes NaN."""
    text = decoded(line, place, offset)
    if isinstance(text, BadRow):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _invalid(error, place)
    return _row(value, place)


def _row(value: object, place: Place) -> RawRow | BadRow:
    if not isinstance(value, dict):
        return _not_an_object(value, place)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        return _invalid(error, place)  # `\ud800` alone: half of a character; or very many digits
    return RawRow(place, value)


def _whole_text(path: Path, name: str) -> str:
    content = read_plain(path, LARGEST_WHOLE)
    refuse_other_marks(content[:4], name)
    offset = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        text = decoded(line, Place(name, line=number), offset)
        if isinstance(text, BadRow):
            raise BadInput(text.finding())
        offset += len(line)
    return content.decode("utf-8-sig")


def _rows_of_list(text: str, start: int, name: str) -> RawRows:
    line, counted = 1, 0
    for at, value, _ in _elements(text, start):
        line, counted = line + text.count("\n", counted, at), at
        yield _row(value, Place(name, line=line))


def _elements(text: str, start: int) -> Iterator[tuple[int, object, int]]:
    """Begin, value and end of each element of the list that begins at `start`."""
    if text[start : start + 1] != "[":
        raise json.JSONDecodeError("Expecting a list of objects", text, start)
    at = _past_space(text, start + 1)
    if text[at : at + 1] == "]":
        return
    while True:
        value, end = ELEMENT.raw_decode(text, at)
        yield at, value, end
        end = _past_space(text, end)
        if text[end : end + 1] == "]":
            return
        if text[end : end + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, end)
        at = _past_space(text, end + 1)


def _only_list(text: str, start: int, name: str) -> int:
    """Where the one list of an object begins."""
    lists: dict[str, int] = {}
    keys = []
    at = _past_space(text, start + 1)
    while text[at : at + 1] == '"':
        key, end = ELEMENT.raw_decode(text, at)
        value_at = _past_space(text, _past_space(text, end) + 1)
        value, end = ELEMENT.raw_decode(text, value_at)
        keys.append(key)
        if isinstance(value, list):
            lists[key] = value_at
        at = _past_space(text, _past_space(text, end) + 1)
    if len(lists) != 1:
        raise BadInput(_no_list(keys, list(lists), name).finding())
    return next(iter(lists.values()))


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _repeated_key(line: bytes, value: dict[str, object]) -> str | None:
    """Looks twice only at a line of many keys, or one in which the text of a key stands twice."""
    if len(value) <= FEW_KEYS and not any(line.count(b'"%s"' % key.encode()) > 1 for key in value):
        return None
    pairs: list[tuple[str, object]] = []

    def outermost(found: list[tuple[str, object]]) -> None:
        pairs[:] = found  # objects close from the inside out: the last to close is the row

    json.loads(line, object_pairs_hook=outermost)
    times = Counter(key for key, _ in pairs)
    return next((key for key, count in times.items() if count > 1), None)


def _said_twice(key: str, place: Place) -> BadRow:
    return BadRow(place, REPEATED_KEY, f"`{key}` occurs twice in the object", field=key)


def _not_an_object(value: object, place: Place) -> BadRow:
    return BadRow(
        place,
        NOT_AN_OBJECT,
        f"There is {TYPES.get(type(value), 'null')} in place of an object",
        facts=(Fact("value", shown(value)),),
    )


def _no_list(keys: list[str], lists: list[str], name: str) -> BadRow:
    listed = ", ".join(f"`{key}`" for key in lists)
    return BadRow(
        Place(name, line=1),
        NO_LIST_OF_ROWS,
        f"The object holds {f'{len(lists)} lists, {listed},' if lists else 'no list of rows'}",
        facts=(Fact("its keys", ", ".join(keys) or "none"),),
        fixes=(Fix("Write the rows as a list of objects, or as one object per line."),),
    )


def _invalid(error: Exception, place: Place) -> BadRow:
    if not isinstance(error, json.JSONDecodeError):
        return BadRow(place, INVALID_JSON, "The JSON is invalid", python_said=str(error))
    around = error.doc[max(0, error.pos - 25) : error.pos + 25].strip("\r\n")
    return BadRow(
        place,
        INVALID_JSON,
        "The JSON is invalid",
        facts=(Fact("column", str(error.colno)), Fact("text around it", shown(around))),
        python_said=f"{error.msg}: column {error.colno}",
    )
