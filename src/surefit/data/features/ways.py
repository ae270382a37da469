"""The ways in which the sizes of an array allow it to be read as rows, by arithmetic alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations

from .headers import Header
from .layout import Layout
from .readings import Groups, Reading, reading


class Scenario(StrEnum):
    """What the data are, beside what was declared."""

    AS_DECLARED = "as declared"
    FLATTENED = "flattened"
    TURNED = "flattened after a transpose"
    SWAPPED = "swapped axes"
    RESHAPED = "reshaped instead of transposed"
    ROWS_NOT_FIRST = "rows are not the first axis"
    MERGED = "rows and steps in one axis"
    BATCHED = "rows in batches"
    EXTRA_AXIS = "an extra axis"
    UNBATCHED = "one row without its axis"
    POOLED = "pooled over steps"
    MERGED_OR_POOLED = "rows and steps in one axis, or pooled over steps"
    IDS = "ids instead of features"
    OTHER_WIDTH = "other width"
    OTHER_LENGTH = "other number of steps"
    OTHER_DATA = "other data"
    UNDECIDED = "not to be decided"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scenario that the arithmetic allows, and how its rows would be read."""

    scenario: Scenario
    reading: Reading


ONE_ANSWER = (Scenario.AS_DECLARED, Scenario.EXTRA_AXIS, Scenario.BATCHED)
"""Scenarios that the sizes alone make certain, unless the values speak for another."""


def possible(header: Header, layout: Layout) -> Iterator[Candidate]:
    """Every way of reading that the sizes allow; none for other data."""
    steps, features = layout.shape
    for scenario, word, groups, says in _ways(header.shape, layout):
        if header.fortran and scenario in (Scenario.RESHAPED, Scenario.BATCHED):
            continue  # axes that were merged or cut across do not lie so in that order
        made = reading(word, groups, header, steps, features, says)
        if made.rows * made.row_values == header.values:
            yield Candidate(scenario, made)


Way = tuple[Scenario, str, Groups, str]
ROWS, STEPS, FEATURES = ("rows",), ("steps",), ("features",)


def _ways(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    found = list(_plain_ways(shape, layout))
    yield from found
    if found:
        return
    for count in range(1, len(shape)):  # axes of size 1 that are too many
        for left_out in combinations([at for at, size in enumerate(shape) if size == 1], count):
            kept = [at for at in range(len(shape)) if at not in left_out]
            inner = list(_plain_ways(tuple(shape[at] for at in kept), layout))
            for scenario, word, groups, says in inner:
                spread = _spread(groups, kept, len(shape))
                same = scenario is Scenario.AS_DECLARED
                name = Scenario.EXTRA_AXIS if same else scenario
                yield name, "extra-axis" if same else word, spread, says
            if inner:
                return
    steps, features = layout.shape
    if len(shape) > 3 and shape[-2:] == (steps, features):
        lead: Groups = (ROWS, *((),) * (len(shape) - 3))
        says = f"batches of rows: {' x '.join(map(str, shape[:-2]))} of them"
        yield Scenario.BATCHED, "batched", (*lead, STEPS, FEATURES), says


def _spread(groups: Groups, kept: Sequence[int], axes: int) -> Groups:
    whole: list[tuple[str, ...]] = [()] * axes
    for at, group in zip(kept, groups, strict=True):
        whole[at] = group
    return tuple(whole)


def _plain_ways(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    match len(shape):
        case 3:
            yield from _ways_of_three(shape, layout)
        case 2:
            yield from _ways_of_two(shape, layout)
        case 1:
            yield from _ways_of_one(shape, layout)


def _ways_of_three(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    steps, features = layout.shape
    names = {0: "rows", 1: "steps", 2: "features"}
    declared = shape[1:] == (steps, features)
    swapped = shape[1:] == (features, steps)
    if declared:
        says = "rows of steps of features, as declared"
        yield Scenario.AS_DECLARED, "declared", (ROWS, STEPS, FEATURES), says
    if swapped:
        says = "rows that were transposed, features before steps"
        yield Scenario.SWAPPED, "swapped", (ROWS, FEATURES, STEPS), says
    if declared or swapped:
        wide, high = (features, steps) if declared else (steps, features)
        says = f"rows {wide} x {high} that were given the sizes {high} x {wide}, no value moved"
        turned = (ROWS, FEATURES, STEPS) if declared else (ROWS, STEPS, FEATURES)
        if steps != features:
            yield Scenario.RESHAPED, "reshaped", turned, says
        return
    for places in permutations(range(3)):
        if places[0] == 0 or (shape[places[1]], shape[places[2]]) != (steps, features):
            continue
        groups = tuple((names[places.index(at)],) for at in range(3))
        order = ", ".join(group[0] for group in groups)
        yield Scenario.ROWS_NOT_FIRST, "-".join(g[0] for g in groups), groups, f"[{order}]"


def _ways_of_two(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    steps, features = layout.shape
    if shape[1] == layout.row_values:
        says = f"{steps} steps of {features} features, one after the other"
        yield Scenario.FLATTENED, "flattened", (ROWS, ("steps", "features")), says
        says = f"{features} features of {steps} steps, rows transposed before"
        if min(steps, features) > 1:
            turned = ("features", "steps")
            yield Scenario.TURNED, "flattened-transposed", (ROWS, turned), says
    elif shape == (steps, features):
        says = "one row of steps and features"
        yield Scenario.UNBATCHED, "unbatched", (STEPS, FEATURES), says
    elif shape == (features, steps):
        says = "one row, transposed"
        yield Scenario.UNBATCHED, "unbatched-swapped", (FEATURES, STEPS), says
    elif shape[1] == features and shape[0] % steps == 0:
        says = f"{shape[0] // steps:,} rows of {steps} steps, one after the other"
        yield Scenario.MERGED, "merged", (("rows", "steps"), FEATURES), says
        says = f"{steps} steps of {shape[0] // steps:,} rows, steps before rows"
        yield Scenario.MERGED, "merged-steps-first", (("steps", "rows"), FEATURES), says


def _ways_of_one(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    if shape[0] % layout.row_values == 0:
        steps, features = layout.shape
        says = f"rows of {steps} steps of {features} features, all one after the other"
        yield Scenario.FLATTENED, "flattened", (("rows", "steps", "features"),), says
        turned = ("rows", "features", "steps")
        says = f"rows of {features} features of {steps} steps, transposed before"
        yield Scenario.TURNED, "flattened-transposed", (turned,), says


def without_a_way(header: Header, layout: Layout) -> Scenario:
    steps, features = layout.shape
    shape = header.shape
    if len(shape) == 2 and shape[1] == features:
        return Scenario.POOLED
    if len(shape) == 2 and shape[1] == steps and header.dtype.kind in "iu":
        return Scenario.IDS
    if len(shape) == 3 and (shape[1] == steps or shape[2] == steps):
        return Scenario.OTHER_WIDTH
    if len(shape) == 3 and (shape[2] == features or shape[1] == features):
        return Scenario.OTHER_LENGTH
    return Scenario.OTHER_DATA
