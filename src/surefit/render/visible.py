"""Text of unknown origin made safe to print: what a terminal would obey is shown instead."""

import re
import unicodedata
from collections.abc import Iterator

from rich.cells import cell_len


def visible(text: str, keep: str = "") -> str:
    """Escapes control, format and unpaired surrogate characters, but for those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in keep or not is_hidden(character) else escaped(character)
        for character in text
    )


def is_hidden(character: str) -> bool:
    """Line and paragraph separators too: they would end a line in the middle of it."""
    category = unicodedata.category(character)
    return (category[0] == "C" and category != "Co") or category in ("Zl", "Zp")


def escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


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
