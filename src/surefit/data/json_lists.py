"""The elements of a JSON list, read from its file a piece at a time."""

import json
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from surefit.user_files import open_plain

SPACE = " \t\r\n"
AFTER_ELEMENT = {",", "]", *SPACE}
ELEMENT = json.JSONDecoder()
CHARACTERS_AT_ONCE = 1 << 20
LONGEST_ELEMENT = 1 << 27


class NotAList(Exception):  # noqa: N818 - it says what the file is
    """What the file holds begins with something else."""


def list_elements(path: Path) -> Iterator[tuple[int, object]]:
    """Each with the line on which it begins; raises `NotAList`, or `ValueError` for what is no
    valid JSON in UTF-8, without saying where."""
    with (
        open_plain(path) as opened,
        TextIOWrapper(opened, encoding="utf-8-sig", newline="") as file,
    ):
        text = Text(file)
        if text.next_letter() != "[":
            raise NotAList
        text.pass_over(1)
        while text.next_letter() != "]":
            line = text.line
            yield line, text.element()
            if text.next_letter() == ",":
                text.pass_over(1)
                if text.next_letter() == "]":
                    raise ValueError("there is a trailing comma in the list")
            elif text.next_letter() != "]":
                raise ValueError("a comma is missing between elements")


class Text:
    """What is left of a file, of which a piece is in memory."""

    def __init__(self, file: IO[str]) -> None:
        self.line = 1
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False

    def next_letter(self) -> str:
        """The next that is no white space, which is passed over; nothing at the end."""
        while True:
            at = self._at
            while at < len(self._text) and self._text[at] in SPACE:
                at += 1
            self.pass_over(at - self._at)
            if at < len(self._text) or self._ended:
                return self._text[at : at + 1]
            self._read(CHARACTERS_AT_ONCE)

    def pass_over(self, count: int) -> None:
        self.line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def element(self) -> object:
        more = CHARACTERS_AT_ONCE
        while True:
            try:
                value, end = ELEMENT.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if self._ended:
                    raise
            else:
                # Of a number that goes on in the next piece the beginning can be one, too.
                if self._ended or self._text[end : end + 1] in AFTER_ELEMENT:
                    self.pass_over(end - self._at)
                    return value
            if len(self._text) > LONGEST_ELEMENT:
                raise ValueError("an element of the list does not end")
            self._read(more)
            more *= 2  # so that a long element is not decoded again for every piece of it

    def _read(self, count: int) -> None:
        new = self._file.read(count)
        self._ended = not new
        self._text = self._text[self._at :] + new
        self._at = 0
