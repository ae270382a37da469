"""Every row of a folder, looked at: what a sample of rows would not have met."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from surefit.doctor.findings import Finding

from .checksums import row_blocks, rows_in_block
from .decode import Values
from .folder import Shards
from .layout import Kind
from .probe import Probe, fits, probe
from .row_checks import check_rows
from .shards import Shard

MOST_KEPT = 1000
"""Bad rows of one shard that are kept to be told of."""


def row_faults(shards: Shards, progress: Callable[[int], None]) -> Iterator[Finding]:
    """One finding for each shard with rows that are not finite, or not of the declared kind."""
    for shard in shards.shards:
        yield from _faults_of(shard, shards.layout.kind, progress)


def _faults_of(
    shard: Shard, declared: Kind | None, progress: Callable[[int], None]
) -> Iterator[Finding]:
    first, places, rows = 0, list[int](), list[Values]()
    for block in row_blocks(shard, rows_in_block(shard.stored_row_bytes)):
        bad = _bad(block, probe(block), declared)[: MOST_KEPT - len(places)]
        places += (first + bad).tolist()
        rows += [block[at] for at in bad]
        first += len(block)
        progress(len(block))
    if rows:
        every = np.stack(rows)
        yield from check_rows(
            shard.name, places, every, probe(every), declared, looked_at=shard.rows
        )


def _bad(block: Values, found: Probe, declared: Kind | None) -> NDArray[np.intp]:
    if not found.finite:
        return np.flatnonzero(~np.isfinite(block).all(axis=(1, 2)))
    if declared is None or fits(found.kind, declared):
        return np.empty(0, np.intp)
    others = [at for at, row in enumerate(block) if not fits(probe(row[None]).kind, declared)]
    return np.array(others, np.intp)
