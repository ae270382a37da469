"""A folder of arrays against its declared layout: every shard, by its header alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import refuse_if

from .checks import check_header
from .decode import decoded, decoded_together
from .files import Files, read_headers
from .headers import Header
from .layout import Kind, Layout
from .layout_file import (
    BAD_LAYOUT_FILE,
    LAYOUT_FILE,
    Checksums,
    LayoutFile,
    read_layout_file,
    settled,
)
from .probe import Probe, fits, not_finite, probe
from .shards import Form, Shard

NOT_FINITE = refusal("SF040", "value-not-finite", "A row holds NaN or an infinite number.")
OTHER_KIND = refusal(
    "SF041", "rows-of-other-kind", "Rows are not of the kind that was declared for them."
)

SAMPLE = 256
"""Rows of a shard that are looked at, spread over it."""

SAMPLE_BLOCKS = 32
SAMPLE_BYTES = 32_000_000
"""Rows larger than usual are looked at in smaller number."""


@dataclass(frozen=True, slots=True)
class Shards:
    """A data folder that was checked by its headers."""

    folder: Path
    layout: Layout
    shards: tuple[Shard, ...]
    """In natural order of names."""

    form: Form = Form.PLAIN
    checksums: Checksums | None = None
    """Where `--write-layout` or `pack` wrote them; without them flipped bytes are invisible."""

    passed_over: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)


def read_shards(folder: Path, layout: Layout | None = None) -> Shards:
    """Checks every header against the layout, and tells all faults at once; no row is read."""
    files = read_headers(folder)
    found = read_layout_file(files.folder)
    layout = settled(files.folder, found, layout)
    form = Form(found.form) if found else Form.PLAIN
    faults = list(files.faults)
    for header in files.headers:
        faults += check_header(header, layout, form, folder)
    if found:
        faults += _against_file(files, found, folder.is_dir())
    refuse_if(faults)
    return Shards(
        folder=files.folder,
        layout=layout,
        shards=tuple(as_shard(header, layout, form) for header in files.headers),
        form=form,
        checksums=_checksums(found),
        passed_over=tuple(name for name in files.passed_over if name != LAYOUT_FILE),
    )


def as_shard(header: Header, layout: Layout, form: Form = Form.PLAIN) -> Shard:
    """A header that was found to fit, as the loader wants it."""
    plain = form is Form.PLAIN
    return Shard(
        path=header.path,
        name=header.name,
        form=Form.DECODED if header.offset is None else form,
        rows=header.rows,
        shape=layout.shape,
        dtype=layout.dtype,
        offset=header.offset,
        stored_row_bytes=layout.row_bytes if plain else header.row_bytes,
        size=header.size,
        changed_ns=header.changed_ns,
        stored_dtype=header.dtype.name,
        inside=header.inside,
        part=header.part,
        whole=header.whole,
    )


def check_sample(shards: Shards, most: int = SAMPLE) -> tuple[Probe, ...]:
    """Looks at rows spread over every shard; refuses NaN, infinity and rows of another kind."""
    found: list[Probe] = []
    faults: list[Finding] = []
    for shard in shards.shards:
        positions, rows = sample(shard, most)
        one = probe(rows)
        found.append(one)
        faults += check_rows(shard.name, positions, rows, one, shards.layout.kind)
    refuse_if(faults)
    return tuple(found)


def sample(shard: Shard, most: int = SAMPLE) -> tuple[list[int], np.ndarray]:
    """Numbers of rows spread over a shard, and these rows."""
    most = max(1, min(most, SAMPLE_BYTES // max(1, shard.row_bytes)))
    blocks = _blocks(shard, most)
    rows = np.empty((sum(last - first for first, last in blocks), *shard.shape), shard.dtype)
    at = 0
    positions: list[int] = []
    for first, last in blocks:
        decoded(shard, first, last, rows[at : at + last - first])
        positions += range(first, last)
        at += last - first
    return positions, rows


def check_rows(
    name: str,
    positions: Sequence[int],
    rows: np.ndarray,
    found: Probe,
    declared: Kind | None,
) -> Iterator[Finding]:
    """What a sample of a shard shows to be wrong."""
    if not found.finite:
        yield _not_finite(name, positions, rows)
    elif declared and not fits(found.kind, declared):
        yield _other_kind(name, positions, rows, found, declared)


def _blocks(shard: Shard, most: int) -> list[tuple[int, int]]:
    """Stretches of rows spread over a shard, with its first and last row."""
    together = decoded_together(shard)
    if together:
        picked = _spread(len(together), 4)
        each = max(1, most // len(picked))
        return [(first, min(last, first + each)) for first, last in (together[i] for i in picked)]
    if shard.rows <= most:
        return [(0, shard.rows)]
    each = max(1, most // SAMPLE_BLOCKS)
    starts = _spread(shard.rows - each + 1, max(1, most // each))
    blocks: list[tuple[int, int]] = []
    for start in starts:
        begin = max(start, blocks[-1][1]) if blocks else start
        blocks.append((begin, start + each))
    return [block for block in blocks if block[0] < block[1]]


def _spread(count: int, most: int) -> list[int]:
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))})


def _not_finite(name: str, positions: Sequence[int], rows: np.ndarray) -> Finding:
    places = not_finite(rows)
    bad = sorted({positions[row] for row, _, _ in places.tolist()})
    row, step, feature = places[0].tolist()
    several = f"rows {bad[0]:,} to {bad[-1]:,}" if len(bad) > 1 else f"row {bad[0]:,}"
    return NOT_FINITE.finding(
        Place(name, row=positions[row] + 1),
        f"`{name}` holds {rows[row, step, feature]} in row {positions[row]:,}, step {step},"
        f" feature {feature} (from 0).",
        facts=(
            Fact("such rows", f"{len(bad)} of {len(rows)} that were looked at: {several}"),
            Fact("such values", f"{len(places):,} of {rows.size:,}"),
        ),
        why="One such value makes the loss, and after a step every weight, not a number.",
        fixes=(Fix("Mend these rows where they are made, or leave them out there."),),
    )


def _other_kind(
    name: str, positions: Sequence[int], rows: np.ndarray, found: Probe, declared: Kind
) -> Finding:
    wrong = [at for at, row in enumerate(rows) if not fits(probe(row[None]).kind, declared)]
    first, last = positions[wrong[0]], positions[wrong[-1]]
    where = f"row {first:,}" if first == last else f"rows {first:,} to {last:,}"
    return OTHER_KIND.finding(
        Place(name, row=first + 1),
        f"`{name}` is declared {declared}, and {len(wrong)} of {len(rows)} rows that were looked"
        f" at are not.",
        facts=(
            Fact("first of them", where),
            Fact("they are", f"{found.kind}, from {found.low:g} to {found.high:g}"),
            *_steps(rows[wrong[0]], first, declared),
        ),
        fixes=(
            Fix("If the declaration is right, these are other data: look where they are made."),
            Fix(f"If the data are right, declare them:  --kind {found.kind}"),
        ),
    )


def _steps(row: np.ndarray, number: int, declared: Kind) -> Iterable[Fact]:
    """The first step of a row that is not one-hot, in numbers."""
    if declared is not Kind.ONE_HOT:
        return
    for step, values in enumerate(row):
        ones = int(np.count_nonzero(values))
        if ones != 1 or values.max() != 1:
            said = f"{ones} values that are not 0, sum {values.sum(dtype=np.float64):g}"
            yield Fact(f"row {number:,}, step {step}", said)
            return


def _checksums(found: LayoutFile | None) -> Checksums | None:
    if not found or not found.rows_in_block:
        return None
    return Checksums(found.rows_in_block, {one.key: one.checksums for one in found.shards})


def _against_file(files: Files, found: LayoutFile, all_of_it: bool) -> Iterator[Finding]:
    """Files that came, went or changed since the layout was written."""
    known: dict[str, tuple[int, int]] = {}
    for one in found.shards:
        known[one.name] = (known.get(one.name, (0, 0))[0] + one.rows, one.bytes)
    place = Place(str(files.folder / LAYOUT_FILE))
    again = Fix("If that is meant, write the layout again with `--write-layout`.")
    rows: dict[str, int] = {}
    for header in files.headers:
        rows[header.name] = rows.get(header.name, 0) + header.rows
    broken = {fault.place.file for fault in files.faults}
    for name in known.keys() - rows.keys() - broken if all_of_it else ():
        said = f"`{name}`, {known[name][0]:,} rows, is in `{LAYOUT_FILE}` and no longer here."
        yield BAD_LAYOUT_FILE.finding(place, said, fixes=(Fix("Put the file back."), again))
    sizes = {header.name: header.size for header in files.headers}
    for name, count in rows.items() if known else ():
        if name not in known:
            said = f"`{name}`, {count:,} rows, is not in `{LAYOUT_FILE}`."
            yield BAD_LAYOUT_FILE.finding(place, said, fixes=(again,))
        elif known[name] != (count, sizes[name]):
            facts = (
                Fact("then", "{:,} rows, {:,} bytes".format(*known[name])),
                Fact("now", f"{count:,} rows, {sizes[name]:,} bytes"),
            )
            said = f"`{name}` is not the file that `{LAYOUT_FILE}` was written for."
            yield BAD_LAYOUT_FILE.finding(Place(name), said, facts=facts, fixes=(again,))
