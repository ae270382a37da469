"""Spelling noise that leaves every word of the answer as it is.

Words are never merged, left out or put in another order, and none is replaced by another: each of
these can make a different answer right.
"""

import random
import re
from collections.abc import Callable
from typing import TypeAlias

WORDS_TO_A_CHANGE = 12
SHORTEST = 4
"""Letters of the shortest word that is changed, so that `not` and `no` stay what they are."""

Change: TypeAlias = Callable[[str, random.Random], str | None]
"""Given a word with the white space after it; None where the change cannot be made."""


def misspelt(text: str, target: str, chance: random.Random) -> str:
    """About one word in 12 changed, at least one where any can be; none that the target holds, or
    that holds or is part of a word of the target, and none with a digit."""
    words = re.findall(r"\s+|\S+\s*", text)
    kept = _kept_words(target)
    left = max(1, round(len(words) / WORDS_TO_A_CHANGE))
    for at in chance.sample(range(len(words)), len(words)):
        changed = _changed(words[at], kept, chance) if _can_change(words[at], kept) else None
        if changed is not None:
            words[at] = changed
            left -= 1
        if left == 0:
            break
    return "".join(words)


def _kept_words(target: str) -> frozenset[str]:
    """Words of the target, in one case, with and without the punctuation around them."""
    words = target.casefold().split()
    return frozenset(words) | frozenset(bare for word in words if (bare := _bare(word)))


def _can_change(word: str, kept: frozenset[str]) -> bool:
    letters = sum(letter.isalpha() for letter in word)
    has_digit = any(letter.isdigit() for letter in word)
    return letters >= SHORTEST and not has_digit and not _is_kept(word, kept)


def _is_kept(word: str, kept: frozenset[str]) -> bool:
    folded = word.casefold()
    bare = _bare(folded)
    return any(keep in folded or bare in keep for keep in kept)


def _bare(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word)


def _changed(word: str, kept: frozenset[str], chance: random.Random) -> str | None:
    """The first change, of all in a random order, that can be made and gives no kept word."""
    for change in chance.sample(CHANGES, len(CHANGES)):
        changed = change(word, chance)
        if changed is not None and not _is_kept(changed, kept):
            return changed
    return None


def _inner_letters(word: str) -> list[int]:
    """Places of letters that have a letter on both sides: `never` must not become `ever`."""
    return [at for at in range(1, len(word) - 1) if word[at - 1 : at + 2].isalpha()]


def swap_letters(word: str, chance: random.Random) -> str | None:
    inner = _inner_letters(word)
    places = [at for at in inner if at + 1 in inner and word[at] != word[at + 1]]
    if not places:
        return None
    at = chance.choice(places)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def drop_letter(word: str, chance: random.Random) -> str | None:
    places = _inner_letters(word)
    if not places:
        return None
    at = chance.choice(places)
    return word[:at] + word[at + 1 :]


def double_letter(word: str, chance: random.Random) -> str | None:
    at = chance.choice([at for at, letter in enumerate(word) if letter.isalpha()])
    return word[:at] + word[at] + word[at:]


def change_case(word: str, chance: random.Random) -> str | None:
    """All capitals, all small, or the other case for the first letter."""
    choices = {word.upper(), word.lower(), word[0].swapcase() + word[1:]} - {word}
    return chance.choice(sorted(choices)) if choices else None


def double_space(word: str, _chance: random.Random) -> str | None:
    bare = word.rstrip()
    return f"{bare}  " if word == f"{bare} " else None


CHANGES: tuple[Change, ...] = (
    swap_letters,
    drop_letter,
    double_letter,
    change_case,
    double_space,
)
