"""The embedded task: a short message about invented people, a question, a span as the answer."""

import random
from dataclasses import dataclass
from pathlib import Path

from .kinds import Fillings, capitalised, read_kinds
from .names import Names, Part

KINDS = read_kinds(Path(__file__).with_name("task_messages.txt"))


@dataclass(frozen=True)
class Row:
    """One example: `target` occurs word for word in `input`."""

    input: str
    target: str


def make_rows(count: int, part: Part, seed: int) -> list[Row]:
    """Rows in which no invented name and no code occurs twice."""
    chance = random.Random(seed)
    fillings = Fillings(Names(part, chance, once=True), chance)
    seen: set[str] = set()
    rows: list[Row] = []
    while len(rows) < count:
        kind = KINDS[len(rows) % len(KINDS)]
        values = fillings.fill(kind.roles)
        codes = {values[role] for role, type_ in kind.roles.items() if type_ == "code"}
        if codes & seen:
            continue
        seen |= codes
        role = chance.choice(list(kind.ask))
        message = " ".join(capitalised(chance.choice(w).format_map(values)) for w in kind.tell)
        rows.append(Row(f"{message}\n{chance.choice(kind.ask[role])}", values[role]))
    chance.shuffle(rows)
    return rows
