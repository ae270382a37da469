"""Held-out rows of which training sees no twin."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .duplicates import groups
from .rows import Row

NOTHING_TO_TRAIN_ON = refusal(
    "SF131",
    "nothing-to-train-on",
    "Rows that are held out are never trained on, so some must be left.",
)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on and rows held out, both in the order of their source."""

    train: tuple[Row, ...]
    held_out: tuple[Row, ...]

    wanted: int
    """How many rows the share comes to; fewer are held out only if twins leave no other way."""

    leaks_avoided: int
    """How many rows that a plain random split of this seed and size would have held out have a
    twin among those that it would have trained on."""

    groups: tuple[tuple[int, ...], ...]
    """Row numbers of twins; each group is on one side."""

    @property
    def short_by(self) -> int:
        return self.wanted - len(self.held_out)


def split(rows: Sequence[Row], share: float, seed: int) -> Split:
    """Depends on nothing but its arguments. `round(len(rows) * share)` rows are held out, at least
    one unless the share is 0."""
    wanted = max(1, round(len(rows) * share)) if share > 0 else 0
    if wanted >= len(rows):
        _refuse(rows, share, wanted)
    twins = groups(rows)
    order = list(range(len(rows)))
    random.Random(f"split {seed}").shuffle(order)
    held_out = _held_out(order, twins, wanted)
    return Split(
        train=tuple(row for at, row in enumerate(rows) if at not in held_out),
        held_out=tuple(row for at, row in enumerate(rows) if at in held_out),
        wanted=wanted,
        leaks_avoided=_leaks(set(order[:wanted]), twins),
        groups=tuple(tuple(rows[at].number for at in group) for group in twins),
    )


def _held_out(order: Sequence[int], twins: Sequence[Sequence[int]], wanted: int) -> set[int]:
    """Rows in their order with their twins; a group larger than what is left to fill is passed
    over, and only if that runs out of rows are the groups chosen by their sizes."""
    turn = {at: place for place, at in enumerate(order)}
    together = sorted(twins, key=lambda group: min(turn[at] for at in group))
    alone = sorted(set(order).difference(*twins), key=lambda at: turn[at])
    units = [*together, *([at] for at in alone)]
    units.sort(key=lambda unit: min(turn[at] for at in unit))
    held_out = _taken(units, wanted)
    return held_out if len(held_out) == wanted else _nearest(together, alone, wanted)


def _taken(units: Sequence[Sequence[int]], wanted: int) -> set[int]:
    taken: set[int] = set()
    for unit in units:
        if len(taken) + len(unit) <= wanted:
            taken.update(unit)
    return taken


def _nearest(together: Sequence[Sequence[int]], alone: Sequence[int], wanted: int) -> set[int]:
    """Groups whose sizes, with rows that stand alone, sum to `wanted` or to the most below it."""
    sums = _sums([len(group) for group in together], wanted)
    left = _fewest_that_fill(sums[0], wanted - len(alone))
    taken: set[int] = set()
    for group, reachable in zip(together, sums[1:], strict=True):
        if len(group) <= left and reachable >> (left - len(group)) & 1:
            taken.update(group)
            left -= len(group)
    return taken.union(alone[: wanted - len(taken)])


def _sums(sizes: Sequence[int], most: int) -> list[int]:
    """For each size, as bits: the sums up to `most` that it and those after it can reach."""
    sums = [1]
    for size in reversed(sizes):
        sums.append((sums[-1] | sums[-1] << size) & ((1 << (most + 1)) - 1))
    return sums[::-1]


def _fewest_that_fill(sums: int, least: int) -> int:
    """The lowest of the sums from `least` on, or the highest of all."""
    enough = sums >> max(0, least) << max(0, least)
    return (enough & -enough if enough else sums).bit_length() - 1


def _leaks(held_out: set[int], twins: Sequence[Sequence[int]]) -> int:
    """Held-out rows with a twin outside."""
    inside = (held_out.intersection(group) for group in twins)
    return sum(
        len(some) for some, group in zip(inside, twins, strict=True) if len(some) < len(group)
    )


def _refuse(rows: Sequence[Row], share: float, wanted: int) -> None:
    raise BadInput(
        NOTHING_TO_TRAIN_ON.finding(
            Place(rows[0].place.file) if rows else Place("rows"),
            f"No row is left to train on: {wanted} of {len(rows)} are held out.",
            facts=(Fact("held-out share", f"{share}"),),
            fixes=(Fix("Hold out less: `--held-out 0.1`."), Fix("Give more rows.")),
        )
    )
