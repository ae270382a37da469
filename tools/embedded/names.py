"""Invented names, built from syllables and divided so that no two uses share a word."""

import random
import re
import zlib
from enum import Enum

from .words import WORDS

STARTS = tuple(onset + vowel for onset in WORDS["name onsets"] for vowel in "aeiou")
MIDDLES = tuple(consonant + vowel for consonant in "bdklmrtv" for vowel in "aio")
ENDS = tuple(consonant + rime for consonant in "bdfgklmnrstvz" for rime in WORDS["name rimes"])
CITY_ENDS = WORDS["city ends"]
COMPANY_ENDS = WORDS["company ends"]

_INVENTED = re.compile(
    rf"\b(?:{'|'.join(STARTS)})(?:{'|'.join(MIDDLES)})?(?:{'|'.join(ENDS + CITY_ENDS)})\b"
)
_LONG_SHARE = 0.25


class Part(Enum):
    """What a name may be used for; the value is the number of hundredths it owns."""

    PRETRAINING = 40
    ROWS = 32
    TUNING = 28


def part_of(word: str) -> Part:
    """The one part a word belongs to, by its CRC-32."""
    place = zlib.crc32(word.encode()) % 100
    if place < Part.PRETRAINING.value:
        return Part.PRETRAINING
    if place < Part.PRETRAINING.value + Part.ROWS.value:
        return Part.ROWS
    return Part.TUNING


def invented_words(text: str) -> list[str]:
    """Every word of the text that the syllable rule can build, in order."""
    return _INVENTED.findall(text)


class Names:
    """Draws names of one part; with `once`, no word is ever given twice."""

    def __init__(self, part: Part, chance: random.Random, *, once: bool = False) -> None:
        self._part = part
        self._chance = chance
        self._once = once
        self._given: set[str] = set()

    def word(self, ends: tuple[str, ...] = ENDS) -> str:
        while True:
            middle = self._chance.choice(MIDDLES) if self._chance.random() < _LONG_SHARE else ""
            word = self._chance.choice(STARTS) + middle + self._chance.choice(ends)
            if part_of(word) is self._part and word not in self._given:
                if self._once:
                    self._given.add(word)
                return word

    def person(self) -> str:
        return f"{self.word()} {self.word()}"

    def city(self) -> str:
        return self.word(CITY_ENDS)

    def company(self) -> str:
        return f"{self.word()} {self._chance.choice(COMPANY_ENDS)}"
