"""More rows to train on: copies with noise in the prompt that changes no label."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from .made import Made
from .row import Row
from .spelling import misspelt
from .turns import Turn
from .user_noise import call, load_function

Noise: TypeAlias = Callable[[Row, str, random.Random], str]
"""Given a row, the text of its last user turn and a source of chance: another text."""


def augment(rows: Sequence[Row], factor: int, seed: int, with_: str | None = None) -> Made[Row]:
    """Each row, followed by `factor - 1` copies with noise in the last turn of the user.

    A copy keeps number, place, target and all other turns. It depends on the seed, on the row's
    number and on which copy it is, and not on the rows around it, so that it is made only when it
    is asked for. The noise is in the spelling alone: to leave out or swap words could make another
    answer right. `with_` names a function of the user's, `module:function`, that makes the noise
    instead; it is tried on the first row at once.
    """
    noise = _spelling_noise if with_ is None else _noise_of_user(with_)

    def make(place: int) -> Row:
        at, copy = divmod(place, factor)
        row = rows[at]
        if copy == 0:
            return row
        return _copy(row, noise, random.Random(f"augment {seed} {row.number} {copy}"))

    made = Made(len(rows) * factor, make)
    if with_ is not None and rows:
        make(factor - 1)
    return made


def _spelling_noise(row: Row, text: str, chance: random.Random) -> str:
    """Words of what follows the question are left alone: answers and calls of tools use them."""
    last = max(at for at, turn in enumerate(row.turns) if turn.role == "user")
    return misspelt(text, "\n".join(turn.text for turn in row.turns[last + 1 :]), chance)


def _noise_of_user(name: str) -> Noise:
    function = load_function(name)

    def noise(row: Row, text: str, chance: random.Random) -> str:
        return call(function, name, row, text, chance)

    return noise


def _copy(row: Row, noise: Noise, chance: random.Random) -> Row:
    asked = [at for at, turn in enumerate(row.turns) if turn.role == "user"]
    if not asked:
        return row
    last = asked[-1]
    turn = Turn("user", noise(row, row.turns[last].text, chance))
    return replace(row, turns=(*row.turns[:last], turn, *row.turns[last + 1 :]))
