"""More rows to train on: copies with noise in the prompt that changes no label."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from .rows import Row, Turn
from .spelling import misspelt
from .user_noise import call, load_function

Noise: TypeAlias = Callable[[Row, str, random.Random], str]
"""Given a row, the text of its last user turn and a source of chance: another text."""


def augment(
    rows: Sequence[Row], factor: int, seed: int, with_: str | None = None
) -> tuple[Row, ...]:
    """Each row, followed by `factor - 1` copies with noise in the last turn of the user.

    A copy keeps number, place, target and all other turns. It depends on the seed, on the row's
    number and on which copy it is, and not on the rows around it. The noise is in the spelling
    alone: to leave out or swap words could make another answer right. `with_` names a function of
    the user's, `module:function`, that makes the noise instead.
    """
    noise = _spelling_noise if with_ is None else _noise_of_user(with_)
    return tuple(
        row
        if copy == 0
        else _copy(row, noise, random.Random(f"augment {seed} {row.number} {copy}"))
        for row in rows
        for copy in range(factor)
    )


def _spelling_noise(row: Row, text: str, chance: random.Random) -> str:
    return misspelt(text, row.target, chance)


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
