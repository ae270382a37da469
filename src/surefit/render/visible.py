"""Text of unknown origin made safe to show: what a terminal or an editor would obey, and what
nobody would see, is written out instead.

`visible` is for text that people read (terminal, page, SARIF messages), `in_json` for JSON, where
what is written out is still the same text to whoever reads the document.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
"""Letters and marks by their category that take no room, or room in which nothing is seen."""

MOST_SHOWN = 3_000
"""Characters of one text in a finding."""
SUSPECT = re.compile(r"[^ -~]")
"""Anything but printable ASCII."""


def visible(text: str, keep: str = "") -> str:
    """Escapes control, format, invisible and unpaired surrogate characters, those in `keep` not."""
    if text.isascii() and text.isprintable():
        return text
    return SUSPECT.sub(
        lambda match: (
            match[0] if match[0] in keep or not is_hidden(match[0]) else escaped(match[0])
        ),
        text,
    )


@lru_cache(maxsize=10_000)
def is_hidden(character: str) -> bool:
    """Line and paragraph separators too: they would end a line in the middle of it."""
    category = unicodedata.category(character)
    own = category[0] == "C" and category != "Co"
    return own or category in ("Zl", "Zp") or character in BLANK


def escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def in_json(document: str) -> str:
    """A JSON document with such characters as JSON's own escapes; its line ends stay.

    They can stand in its strings alone, so that it means what it meant.
    """
    return SUSPECT.sub(
        lambda match: (
            json_escape(match[0]) if match[0] != "\n" and is_hidden(match[0]) else match[0]
        ),
        document,
    )


def json_escape(character: str) -> str:
    """`\\u202e`; two of them for a character beyond the first 65,536."""
    raw = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at]:02x}{raw[at + 1]:02x}" for at in range(0, len(raw), 2))


def in_part(text: str) -> str:
    """The beginning of a text that is longer than anybody reads; the JSON document has all."""
    more = len(text) - MOST_SHOWN
    return text if more <= 0 else f"{text[:MOST_SHOWN]}… and {more:,} characters more"


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells; spaces inside a line stay, and words wider than it break."""
    return [line for paragraph in text.split("\n") for line in wrap_paragraph(paragraph, width)]


def wrap_paragraph(text: str, width: int) -> Iterator[str]:
    line = ""
    for gap, word in re.findall(r"( *)([^ ]+)", visible(text)):
        if line and cell_len(line + gap + word) <= width:
            line += gap + word
            continue
        if line:
            yield line
        *full, line = pieces(word, width)
        yield from full
    yield line


def pieces(word: str, width: int) -> list[str]:
    """A word cut into parts of at most `width` cells."""
    if word.isascii():
        return [word[begin : begin + width] for begin in range(0, len(word), width)]
    parts, part = [], ""
    for character in word:
        if part and cell_len(part + character) > width:
            parts.append(part)
            part = ""
        part += character
    return [*parts, part]


def shorten(text: str, width: int) -> str:
    """The beginning of a text in at most `width` cells, with … for the rest."""
    return text if cell_len(text) <= width else pieces(text, width - 1)[0] + "…"


def shorten_left(text: str, width: int) -> str:
    """The end of a text in at most `width` cells, with … for what stood before."""
    if cell_len(text) <= width:
        return text
    kept = ""
    for character in reversed(text):
        if cell_len(character + kept) > width - 1:
            break
        kept = character + kept
    return "…" + kept
