"""Which of the usual scenarios an array is: by the arithmetic of its axes, then by its values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations
from math import prod

import numpy as np

from surefit.doctor.findings import Fact, Finding

from .decode import Values
from .headers import Header
from .layout import Kind, Layout
from .probe import Probe, fits, probe
from .readings import Groups, Reading, StoredValues, open_values, read_rows, reading
from .row_checks import check_rows

SAMPLE = 256
SAMPLE_BLOCKS = 32
SAMPLE_BYTES = 32_000_000
SHOWN = 3
"""Rows that are kept to be shown."""


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an array was found to be."""

    header: Header
    scenario: Scenario
    reading: Reading | None
    """How to read it, where that is certain."""

    probe: Probe | None
    """Of a sample, read in that way, or as it is stored where there is no such way."""

    sample: Values | None
    """A few rows of it, `[rows, steps, features]`, as they would be read, or as they are."""

    positions: tuple[int, ...] = ()
    open: tuple[Reading, ...] = ()
    """Ways between which neither arithmetic nor values decide."""

    faults: tuple[Finding, ...] = ()
    """What the values of the sample show to be wrong: NaN, or another kind."""

    facts: tuple[Fact, ...] = ()
    ruled_out: tuple[Fact, ...] = ()


def judge(header: Header, layout: Layout, chosen: str | None = None) -> Verdict:
    """`chosen` is the word of a reading that the user says is right."""
    candidates = list(possible(header, layout))
    if not candidates or not header.values:
        return _without_reading(header, layout)
    with open_values(header) as values:
        probes = {one.reading.word: _sampled(values, one.reading) for one in candidates}
    pick, ruled_out, open_ = _decide(candidates, probes, layout, chosen)
    shown = pick or candidates[0]
    found, rows, at = probes[shown.reading.word]
    scenario = pick.scenario if pick else _name_of_open(candidates, probes, header, layout)
    if scenario is Scenario.POOLED:
        open_ = []
    return Verdict(
        header=header,
        scenario=scenario,
        reading=pick.reading if pick else None,
        probe=found,
        sample=rows[:SHOWN].copy(),
        positions=tuple(at),
        open=tuple(one.reading for one in open_),
        faults=_faults(header, found, rows, at, layout) if pick else (),
        facts=(
            *_arithmetic(header, layout, candidates),
            *_by_values(pick, candidates, found, open_),
        ),
        ruled_out=(*ruled_out, *_by_arithmetic(header.shape, layout, candidates)),
    )


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
        says = "each row was transposed: features first, then steps"
        yield Scenario.SWAPPED, "swapped", (ROWS, FEATURES, STEPS), says
    if declared or swapped:
        says = "rows were transposed, then given the shape of others without moving a value"
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
        says = f"{steps} steps of {features} features, one behind the other"
        yield Scenario.FLATTENED, "flattened", (ROWS, ("steps", "features")), says
        says = f"{features} features of {steps} steps: rows were transposed before"
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
        says = f"{shape[0] // steps:,} rows of {steps} steps, one behind the other"
        yield Scenario.MERGED, "merged", (("rows", "steps"), FEATURES), says
        says = f"{steps} steps of {shape[0] // steps:,} rows: steps came first"
        yield Scenario.MERGED, "merged-steps-first", (("steps", "rows"), FEATURES), says


def _ways_of_one(shape: tuple[int, ...], layout: Layout) -> Iterator[Way]:
    if shape[0] % layout.row_values == 0:
        steps, features = layout.shape
        says = f"rows of {steps} steps of {features} features, all one behind the other"
        yield Scenario.FLATTENED, "flattened", (("rows", "steps", "features"),), says
        turned = ("rows", "features", "steps")
        says = f"rows of {features} features of {steps} steps: transposed before"
        yield Scenario.TURNED, "flattened-transposed", (turned,), says


# by values


def _sampled(values: StoredValues, how: Reading) -> tuple[Probe, Values, list[int]]:
    blocks = _blocks(values.header, how)
    parts = [read_rows(values, how, first, last) for first, last in blocks]
    rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return probe(rows), rows, [at for first, last in blocks for at in range(first, last)]


def _blocks(header: Header, how: Reading) -> list[tuple[int, int]]:
    """Spread over the file; few and large where every row is gathered from many places."""
    row_bytes = max(1, how.row_values * header.dtype.itemsize)
    most = max(1, min(SAMPLE, how.rows, SAMPLE_BYTES // row_bytes))
    count = SAMPLE_BLOCKS if how.in_place and header.offset is not None else 2
    each = max(1, most // count)
    if how.rows <= most:
        return [(0, how.rows)]
    starts = sorted({round(at) for at in np.linspace(0, how.rows - each, max(1, most // each))})
    found: list[tuple[int, int]] = []
    for start in starts:
        begin = max(start, found[-1][1]) if found else start
        if begin < start + each:
            found.append((begin, start + each))
    return found


Tried = dict[str, tuple[Probe, Values, list[int]]]
ONE_ANSWER = (Scenario.AS_DECLARED, Scenario.EXTRA_AXIS, Scenario.BATCHED)
"""Scenarios that the sizes alone make certain, unless the values speak for another."""


def _decide(
    candidates: Sequence[Candidate],
    probes: Tried,
    layout: Layout,
    chosen: str | None,
) -> tuple[Candidate | None, list[Fact], list[Candidate]]:
    """The one that is certain, what the values rule out, and what is left open."""
    told = [one for one in candidates if "features" in probes[one.reading.word][0].sums_to_one]
    good = [one for one in candidates if _may_be(probes[one.reading.word][0], layout)]
    by_values = told[0] if len(told) == 1 and len(candidates) > 1 else None
    sized = next((one for one in candidates if one.scenario in ONE_ANSWER), None)
    wanted = next((one for one in good if one.reading.word == chosen), None)
    pick = by_values if by_values in good else None
    pick = pick or wanted or (sized if not by_values or sized in good else None)
    if pick is None or pick not in good:
        if sized is not None and by_values in (None, sized):
            return sized, [], []  # its shape is right; that its kind is not is another fault
        return None, _not_of_kind(candidates, good, probes), good
    others = [one for one in candidates if one is not pick and one not in told] if told else []
    return pick, [_ruled_out(one, probes) for one in others], []


def _may_be(found: Probe, layout: Layout) -> bool:
    return not found.finite or layout.kind is None or fits(found.kind, layout.kind)


def _ruled_out(one: Candidate, probes: Tried) -> Fact:
    _, rows, _ = probes[one.reading.word]
    sums = rows.sum(axis=2, dtype=np.float64)
    wrong = int((np.abs(sums - 1) > 1e-2).sum())
    said = f"{wrong:,} of {sums.size:,} steps would not sum to 1"
    return Fact(str(one.scenario), f"read so ({one.reading.says}), {said}")


def _not_of_kind(
    candidates: Sequence[Candidate], good: Sequence[Candidate], probes: Tried
) -> list[Fact]:
    return [
        Fact(
            str(one.scenario),
            f"read so ({one.reading.says}), rows are {probes[one.reading.word][0].kind}",
        )
        for one in candidates
        if one not in good
    ]


def _name_of_open(
    candidates: Sequence[Candidate], probes: Tried, header: Header, layout: Layout
) -> Scenario:
    names = list(dict.fromkeys(one.scenario for one in candidates))
    if names == [Scenario.MERGED]:
        return _merged_or_pooled(header, layout, probes["merged"][0], probes["merged"][1])
    if set(names) <= {Scenario.FLATTENED, Scenario.TURNED}:
        return Scenario.FLATTENED
    if set(names) <= {Scenario.SWAPPED, Scenario.RESHAPED}:
        return Scenario.SWAPPED
    return names[0] if len(names) == 1 else Scenario.UNDECIDED


def _merged_or_pooled(header: Header, layout: Layout, found: Probe, rows: Values) -> Scenario:
    """A mean over steps of one-hot rows has shares of 1 / steps; no step of one-hot rows has."""
    if found.kind is Kind.ONE_HOT:
        return Scenario.MERGED
    shares = rows.astype(np.float64) * layout.steps
    if "features" in found.sums_to_one and bool(np.abs(shares - shares.round()).max() < 1e-3):
        return Scenario.POOLED
    return Scenario.MERGED_OR_POOLED if header.shape[0] > layout.steps else Scenario.UNBATCHED


def stored_sample(header: Header) -> Values | None:
    """Values as they are stored, `[rows, the axes between, last axis]`, from the beginning on."""
    if not header.values:
        return None
    last = header.shape[-1] if len(header.shape) > 1 else header.values
    between = prod(header.shape[1:-1])
    most = max(1, SAMPLE_BYTES // header.dtype.itemsize)
    rows = min(SAMPLE, header.values // (between * last), most // (between * last))
    if not rows:  # even one row is large: its beginning
        rows, between = 1, max(1, min(between, most // last))
    with open_values(header) as values:
        return values.take(0, rows * between * last).reshape(rows, between, last)


def _faults(
    header: Header, found: Probe, rows: Values, at: Sequence[int], layout: Layout
) -> tuple[Finding, ...]:
    return tuple(check_rows(header.name, at, rows, found, layout.kind))


def _by_values(
    pick: Candidate | None,
    candidates: Sequence[Candidate],
    found: Probe,
    open_: Sequence[Candidate],
) -> Iterator[Fact]:
    if pick and len(candidates) > 1 and "features" in found.sums_to_one:
        steps = found.rows * pick.reading.steps
        yield Fact("by their values", f"all {steps:,} steps of {found.rows:,} rows sum to 1 so")
    elif len(open_) > 1:
        said = f"rows are {found.kind} either way: the values cannot decide"
        yield Fact("by their values", said)


# in words


def _without_reading(header: Header, layout: Layout) -> Verdict:
    scenario = _no_way(header, layout)
    sample = stored_sample(header)
    return Verdict(
        header=header,
        scenario=scenario,
        reading=None,
        probe=None if sample is None else probe(sample),
        sample=None if sample is None else sample[:SHOWN].copy(),
        facts=tuple(_arithmetic(header, layout, ())),
        ruled_out=tuple(_by_arithmetic(header.shape, layout, ())),
    )


def _no_way(header: Header, layout: Layout) -> Scenario:
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


def _arithmetic(header: Header, layout: Layout, candidates: Sequence[Candidate]) -> Iterator[Fact]:
    steps, features = layout.shape
    yield Fact("declared", str(layout))
    order = ", Fortran order" if header.fortran else ""
    yield Fact("in the file", f"{list(header.shape)} {header.dtype.name}{order}")
    if candidates and header.shape[1:] != layout.shape:
        rows = candidates[0].reading.rows
        product = " x ".join(map(str, header.shape))
        yield Fact("arithmetic", f"{product} = {rows:,} x {steps} x {features}")
    if not candidates and len(header.shape) > 1:
        row = prod(header.shape[1:]) * header.dtype.itemsize
        times = row / layout.row_bytes
        yield Fact("one row", f"{row:,} bytes, {times:.3g} times the {layout.row_bytes:,} declared")


def _by_arithmetic(
    shape: tuple[int, ...], layout: Layout, candidates: Sequence[Candidate]
) -> Iterator[Fact]:
    """What the sizes alone exclude, each with its sum."""
    if any(one.scenario in ONE_ANSWER for one in candidates):
        return
    steps, features = layout.shape
    possible_ = {one.scenario for one in candidates}
    whole, row = prod(shape), layout.row_values
    if not possible_ & {Scenario.FLATTENED, Scenario.TURNED}:
        yield Fact("flattened", f"the last axis would be {steps} x {features} = {row}")
    if not possible_ & {Scenario.SWAPPED, Scenario.RESHAPED, Scenario.ROWS_NOT_FIRST}:
        absent = [str(size) for size in (steps, features) if size not in shape]
        if absent:
            yield Fact("swapped axes", f"no axis is {' or '.join(absent)}")
    if not candidates and whole % row:
        product = " x ".join(map(str, shape))
        yield Fact("wrong reshape", f"{product} = {whole:,}: no multiple of {row}")
    if len(shape) == 2 and shape[1] == features and shape[0] % steps:
        yield Fact("rows and steps in one axis", f"{shape[0]:,} is no multiple of {steps} steps")
    if len(shape) == 3 and shape[1] != steps and shape[2] != features:
        said = f"axis 1 would be {steps} and is {shape[1]}"
        yield Fact("other width", said)
