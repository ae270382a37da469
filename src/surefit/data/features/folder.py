"""A folder of arrays against its declared layout: every shard, by its header alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.errors import refuse_if

from .array_names import LAYOUT_FILE
from .checks import check_header
from .decode import decoded, decoded_together
from .files import Files, read_headers
from .headers import Header
from .labels import labelled, labels_among_features
from .layout import Kind, Layout
from .layout_file import (
    BAD_LAYOUT_FILE,
    Checksums,
    LayoutFile,
    read_layout_file,
    settled,
)
from .probe import Probe, probe
from .row_checks import check_rows
from .scenarios import judge
from .shards import Form, Shard
from .verdicts import findings, misfits

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


def read_shards(folder: Path, layout: Layout | None = None, *, anew: bool = False) -> Shards:
    """Checks every header against the layout, and tells all faults at once; no row is read.

    `anew`: what the folder's layout file says of layout and shards no longer counts.
    """
    files = read_headers(folder)
    found = read_layout_file(files.folder)
    layout = settled(files.folder, None if anew else found, layout)
    form = Form(found.form) if found else Form.PLAIN
    labels = labelled(files.headers) if form is Form.PLAIN else {}
    faults = [*files.faults, *labels_among_features(labels, folder)]
    rows = [header for header in files.headers if header not in labels]
    for header in rows:
        faults += check_header(header, layout, form, folder)
    if form is Form.PLAIN:
        faults += misfits((header for header in rows if header.rows), layout, folder)
    if found and not anew:
        faults += _against_file(files, found, folder.is_dir())
    refuse_if(faults)
    return Shards(
        folder=files.folder,
        layout=layout,
        shards=tuple(as_shard(header, layout, form) for header in files.headers),
        form=form,
        checksums=None if anew else _checksums(found),
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
        misplaced = list(_misplaced(shard, one, shards))
        faults += misplaced or check_rows(shard.name, positions, rows, one, shards.layout.kind)
    refuse_if(faults)
    return tuple(found)


def _misplaced(shard: Shard, found: Probe, shards: Shards) -> Iterator[Finding]:
    """Zeros and ones that are one-hot only if they are read in another order of axes."""
    told_otherwise = shards.layout.kind in (Kind.MULTI_HOT, Kind.CONTINUOUS)
    if found.kind is Kind.MULTI_HOT and not told_otherwise and shard.form is Form.PLAIN:
        verdict = judge(as_header(shard), shards.layout)
        yield from findings((verdict,), shards.layout, shards.folder)


def as_header(shard: Shard) -> Header:
    """The header that a shard in place was made of."""
    return Header(
        path=shard.path,
        name=shard.name,
        shape=(shard.rows, *shard.shape),
        dtype=np.dtype(shard.dtype),
        size=shard.size,
        changed_ns=shard.changed_ns,
        offset=shard.offset,
        inside=shard.inside,
        part=shard.part,
    )


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


def _blocks(shard: Shard, most: int) -> list[tuple[int, int]]:
    """Stretches of rows spread over a shard, with its first and last row."""
    if shard.rows <= most:
        return [(0, shard.rows)]
    together = decoded_together(shard)
    if together:
        picked = _spread(len(together), 4)
        each = max(1, most // len(picked))
        return [(first, min(last, first + each)) for first, last in (together[i] for i in picked)]
    each = max(1, most // SAMPLE_BLOCKS)
    starts = _spread(shard.rows - each + 1, max(1, most // each))
    blocks: list[tuple[int, int]] = []
    for start in starts:
        begin = max(start, blocks[-1][1]) if blocks else start
        blocks.append((begin, start + each))
    return [block for block in blocks if block[0] < block[1]]


def _spread(count: int, most: int) -> list[int]:
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))})


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
