"""Checksums of blocks of rows: written with the layout, held against what is read later.

CRC-32 of the standard library: it finds every flip of up to 32 bits in a row of bits and misses one
in four billion of all others. It guards against disks and copies, not against people.
"""

import zlib
from collections.abc import Callable, Iterator
from math import ceil

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import refuse_if

from .decode import Values, decoded, decoded_together, stored_rows
from .folder import Shards
from .layout_file import ShardEntry
from .shards import Shard

FLIPPED = refusal(
    "SF042",
    "flipped-bytes",
    "Rows have changed since the checksums of their file were written.",
)

BLOCK_BYTES = 1 << 20
"""A block is at least so large: a checksum of four bytes for each is next to nothing."""

INVISIBLE = "no checksums are written: flipped bytes are invisible (`--write-layout` writes them)"

Progress = Callable[[int], None]


def rows_in_block(row_bytes: int) -> int:
    """A power of two, so that blocks of readers fall into them."""
    return 1 << (ceil(BLOCK_BYTES / row_bytes) - 1).bit_length()


def entry(shard: Shard, rows: int, look: Callable[[Values], None]) -> ShardEntry:
    """What the layout file says of a shard; every block of rows is shown to `look`."""
    sums = tuple(_sums(shard, rows, look))
    return ShardEntry(shard.name, shard.rows, shard.size, sums, shard.part)


def verify(shards: Shards, progress: Progress = lambda _: None) -> None:
    """Reads every row; refuses blocks that are not what they were. Nothing to do without sums."""
    refuse_if(flipped(shards, progress))


def flipped(shards: Shards, progress: Progress = lambda _: None) -> Iterator[Finding]:
    """One finding for each shard that has changed blocks."""
    if shards.checksums is None:
        return
    rows = shards.checksums.rows_in_block
    for shard in shards.shards:
        wanted = shards.checksums.of.get(shard.key)
        if wanted is None:
            continue
        found = tuple(_sums(shard, rows, lambda block: progress(len(block))))
        pairs = zip(found, wanted, strict=False)
        bad = [block for block, (one, other) in enumerate(pairs) if one != other]
        if bad or len(found) != len(wanted):
            yield _flipped(shard, bad, len(found), rows)


def checksum(block: Values) -> int:
    """Of rows as they lie in the file; of decoded rows where a format must be decoded."""
    return zlib.crc32(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)


def _sums(shard: Shard, rows: int, look: Callable[[Values], None]) -> Iterator[int]:
    for block in row_blocks(shard, rows):
        yield checksum(block)
        look(block)


def row_blocks(shard: Shard, rows: int) -> Iterator[Values]:
    """Of `rows` rows each; the last has what is left."""
    if shard.offset is not None:
        for first in range(0, shard.rows, rows):
            yield stored_rows(shard, first, min(first + rows, shard.rows))
        return
    left = np.empty((0, *shard.shape), shard.dtype)
    for first, last in decoded_together(shard):
        part = np.empty((last - first, *shard.shape), shard.dtype)
        decoded(shard, first, last, part)
        left = np.concatenate((left, part)) if len(left) else part
        whole = len(left) // rows * rows
        yield from (left[at : at + rows] for at in range(0, whole, rows))
        left = left[whole:]
    if len(left):
        yield left


def _flipped(shard: Shard, bad: list[int], blocks: int, rows: int) -> Finding:
    ranges = [(block * rows, min((block + 1) * rows, shard.rows) - 1) for block in bad]
    told = ", ".join(f"{first:,} to {last:,}" for first, last in ranges[:8])
    more = f" and {len(ranges) - 8} more blocks" if len(ranges) > 8 else ""
    first = ranges[0][0] if ranges else 0
    facts = [
        Fact("rows", f"{told}{more} (from 0)"),
        Fact("blocks of rows", f"{len(bad)} of {blocks:,} are not what they were"),
    ]
    if shard.offset is not None and ranges:
        begin = shard.offset + first * shard.stored_row_bytes
        facts.append(Fact("first of these bytes", f"{begin:,}"))
    return FLIPPED.finding(
        Place(shard.name),
        f"`{shard.name}` holds other bytes than when its checksums were written, in rows"
        f" {told}{more}.",
        facts=facts,
        why="The size is the same and the header is whole: only the checksums show it.",
        fixes=(
            Fix("Copy the file again from where it came, or write it again."),
            Fix("If it was changed on purpose, write the checksums again with `--write-layout`."),
        ),
    )
