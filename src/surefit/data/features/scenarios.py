"""Which of the usual scenarios an array is: by the arithmetic of its axes, then by its values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from surefit.doctor.findings import Fact, Finding

from .arithmetic import ruled_out_by_sizes, sizes
from .decode import Values
from .headers import Header
from .layout import Kind, Layout
from .probe import Probe, fits, probe
from .readings import Reading, StoredValues, open_values, read_rows
from .row_checks import check_rows
from .ways import ONE_ANSWER, Candidate, Scenario, possible, without_a_way

SAMPLE = 256
SAMPLE_BLOCKS = 32
SAMPLE_BYTES = 32_000_000
SHOWN = 3
"""Rows that are kept to be shown."""


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

    by_values: bool = False
    """That the features of every step sum to one decided it."""

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
        by_values=pick is not None and "features" in found.sums_to_one,
        faults=_faults(header, found, rows, at, layout) if pick else (),
        facts=(
            *sizes(header, layout, () if scenario is Scenario.POOLED else candidates),
            *_by_values(pick, shown, found, open_),
        ),
        ruled_out=(*ruled_out, *ruled_out_by_sizes(header.shape, layout, candidates)),
    )


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
    return Fact(str(one.scenario), f"in this layout ({one.reading.says}), {said}")


def _not_of_kind(
    candidates: Sequence[Candidate], good: Sequence[Candidate], probes: Tried
) -> list[Fact]:
    return [
        Fact(
            str(one.scenario),
            f"in this layout ({one.reading.says}), rows are {probes[one.reading.word][0].kind}",
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


FEATURE_AXIS = {"declared": 2, "swapped": 1}
"""Of the file, where its axes are those of rows."""


def _by_values(
    pick: Candidate | None, shown: Candidate, found: Probe, open_: Sequence[Candidate]
) -> Iterator[Fact]:
    """What sums to one, and along which axis of the file."""
    how = shown.reading
    if pick and "features" in found.sums_to_one:
        axis = f", along axis {FEATURE_AXIS[how.word]}" if how.word in FEATURE_AXIS else ""
        steps = f"all {found.rows * how.steps:,} steps of {found.rows:,} rows"
        yield Fact("values", f"in this layout, {steps} sum to 1{axis}")
    elif len(open_) > 1:
        said = f"rows are {found.kind} either way: the values cannot decide"
        yield Fact("values", said)
    elif found.kind is Kind.CONTINUOUS and "features" in found.sums_to_one:
        said = f"shares of 1/{how.steps} that sum to 1, as a mean over {how.steps} steps leaves"
        yield Fact("values", said)


def _without_reading(header: Header, layout: Layout) -> Verdict:
    scenario = without_a_way(header, layout)
    sample = stored_sample(header)
    return Verdict(
        header=header,
        scenario=scenario,
        reading=None,
        probe=None if sample is None else probe(sample),
        sample=None if sample is None else sample[:SHOWN].copy(),
        facts=tuple(sizes(header, layout, ())),
        ruled_out=tuple(ruled_out_by_sizes(header.shape, layout, ())),
    )
