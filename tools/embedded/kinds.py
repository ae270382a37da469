"""Kinds of event, read from a text file: who and what takes part, how it is told and asked.

A file is a list of blocks. `kind NAME` opens one; `roles` gives each role its type; every `tell`
line holds the wordings of one sentence; `ask ROLE` holds questions; `label ROLE` holds its names in
a record. Alternatives stand between ` | `, a role between braces.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .names import Names
from .words import WORDS

MONTHS = WORDS["months"]
WEEKDAYS = WORDS["weekdays"]
CURRENCIES = WORDS["currencies"]
THINGS = WORDS["things"]
JOBS = WORDS["jobs"]


@dataclass(frozen=True)
class Kind:
    """One kind of event."""

    name: str
    roles: dict[str, str]
    tell: list[list[str]] = field(default_factory=list)
    ask: dict[str, list[str]] = field(default_factory=dict)
    label: dict[str, list[str]] = field(default_factory=dict)


def read_kinds(path: Path) -> list[Kind]:
    kinds: list[Kind] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        word, rest = line.split(" ", 1)
        if word == "kind":
            kinds.append(Kind(rest, {}))
        elif word == "roles":
            for pair in rest.split():
                role, type_ = pair.split("=")
                kinds[-1].roles[role] = type_
        elif word == "tell":
            kinds[-1].tell.append(rest.split(" | "))
        else:
            role, wordings = rest.split(": ", 1)
            getattr(kinds[-1], word)[role] = wordings.split(" | ")
    return kinds


class Fillings:
    """Draws a value for every type of role; two roles of one event never get the same value."""

    def __init__(self, names: Names, chance: random.Random) -> None:
        self._chance = chance
        self._makers: dict[str, Callable[[], str]] = {
            "person": names.person,
            "first": names.word,
            "city": names.city,
            "company": names.company,
            "money": lambda: f"{self._number()} {chance.choice(CURRENCIES)}",
            "date": lambda: f"{chance.choice(MONTHS)} {chance.randint(1, 28)}",
            "weekday": lambda: chance.choice(WEEKDAYS),
            "code": lambda: f"{chance.choice('ABCDEFGHJKLMNPRSTUVWZ')}-{chance.randint(100, 999)}",
            "time": lambda: (
                f"{chance.randint(6, 21)}:{chance.choice('012345')}{chance.choice('05')}"
            ),
            "number": self._number,
            "thing": lambda: chance.choice(THINGS),
            "job": lambda: chance.choice(JOBS),
        }

    def _number(self) -> str:
        return str(self._chance.randint(12, self._chance.choice((99, 99, 999))))

    def fill(self, roles: dict[str, str]) -> dict[str, str]:
        values: dict[str, str] = {}
        for role, kind in roles.items():
            value = self._makers[kind]()
            while value in values.values():
                value = self._makers[kind]()
            values[role] = value
        return values


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
