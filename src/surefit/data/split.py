"""Held-out rows of which training sees no twin."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .duplicates import groups
from .made import Chosen
from .row import Row

NOTHING_TO_TRAIN_ON = refusal(
    "SF131",
    "nothing-to-train-on",
    "Rows that are held out are never trained on, so some must be left.",
)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on and rows held out, both in the order of their source."""

    train: Chosen[Row]
    held_out: Chosen[Row]

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


def split(
    rows: Sequence[Row], share: float, seed: int, each: Callable[[int], object] = lambda _: None
) -> Split:
    """Depends on nothing but its arguments. `round(len(rows) * share)` rows are held out, at least
    one unless the share is 0. `each` is told how many rows were searched for twins since it was
    last called."""
    import numpy as np

    wanted = max(1, round(len(rows) * share)) if share > 0 else 0
    if wanted >= len(rows):
        _refuse(rows, share, wanted)
    twins = groups(rows, each)
    order = list(range(len(rows)))
    random.Random(f"split {seed}").shuffle(order)
    is_held_out = np.zeros(len(rows), dtype=bool)
    is_held_out[list(_held_out(order, twins, wanted))] = True
    return Split(
        train=Chosen(rows, np.flatnonzero(~is_held_out)),
        held_out=Chosen(rows, np.flatnonzero(is_held_out)),
        wanted=wanted,
        leaks_avoided=_leaks(set(order[:wanted]), twins),
        groups=tuple(tuple(rows[at].number for at in group) for group in twins),
    )


def _held_out(order: Sequence[int], twins: Sequence[Sequence[int]], wanted: int) -> set[int]:
    """Rows in their order with their twins; a group larger than what is left to fill is passed
    over, and only if that runs out of rows are the groups chosen by their sizes."""
    group_of = {at: group for group in twins for at in group}
    taken: set[int] = set()
    together: dict[int, Sequence[int]] = {}
    for at in order:
        if len(taken) == wanted:
            return taken
        unit = group_of.get(at, [at])
        if at in group_of:
            if unit[0] in together:
                continue
            together[unit[0]] = unit
        if len(taken) + len(unit) <= wanted:
            taken.update(unit)
    if len(taken) == wanted:
        return taken
    alone = [at for at in order if at not in group_of]
    return _nearest(list(together.values()), alone, wanted)


def _nearest(together: Sequence[Sequence[int]], alone: Sequence[int], wanted: int) -> set[int]:
    """Groups whose sizes, with rows that stand alone, sum to `wanted` or to the most below it."""
    sums = _sums([len(group) for group in together], wanted)
    left = _fewest_that_fill(next(sums), wanted - len(alone))
    taken: set[int] = set()
    for group, reachable in zip(together, sums, strict=True):
        if len(group) <= left and reachable >> (left - len(group)) & 1:
            taken.update(group)
            left -= len(group)
    return taken.union(alone[: wanted - len(taken)])


def _sums(sizes: Sequence[int], most: int) -> Iterator[int]:
    """As bits: the sums up to `most` that all sizes can reach, then those of all but the first,
    and so on to those of none. They come from the end, so that some are kept and those between
    are counted again: all of them, for many twins, are more than memory holds."""
    step = isqrt(len(sizes)) + 1
    kept = {len(sizes): 1}
    for at, found in _backwards(sizes, len(sizes), 0, 1, most):
        if at % step == 0:
            kept[at] = found
    for begin in range(0, len(sizes) + 1, step):
        end = min(begin + step, len(sizes))
        between = dict(_backwards(sizes, end, begin, kept[end], most)) | {end: kept[end]}
        yield from (between[at] for at in range(begin, min(begin + step, len(sizes) + 1)))


def _backwards(
    sizes: Sequence[int], end: int, begin: int, found: int, most: int
) -> Iterator[tuple[int, int]]:
    within = (1 << (most + 1)) - 1
    for at in range(end - 1, begin - 1, -1):
        found = (found | found << sizes[at]) & within
        yield at, found


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
