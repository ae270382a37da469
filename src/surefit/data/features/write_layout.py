"""Writes `surefit-layout.json`: the layout, and rows, bytes and checksums of every shard."""

from dataclasses import replace
from pathlib import Path

from surefit.errors import refuse_if
from surefit.writing import write_json

from .array_names import LAYOUT_FILE
from .checksums import Progress, entry, rows_in_block
from .decode import Values
from .folder import Shards
from .layout import Kind, Layout
from .layout_file import VERSION, LayoutFile, ShardEntry
from .probe import probe, widest
from .row_checks import check_rows
from .shards import Form, Shard


def write_layout(shards: Shards, progress: Progress = lambda _: None) -> Path:
    """Reads every row once: for its checksum, its kind, and whether it is finite."""
    rows = rows_in_block(shards.shards[0].stored_row_bytes)
    kinds: set[Kind] = set()
    entries = tuple(_entry(shard, shards, rows, kinds, progress) for shard in shards.shards)
    kind = shards.layout.kind or widest(kinds)
    path = shards.folder / LAYOUT_FILE
    write_json(path, _file(replace(shards.layout, kind=kind), shards.form, rows, entries))
    return path


def _entry(
    shard: Shard, shards: Shards, rows: int, kinds: set[Kind], progress: Progress
) -> ShardEntry:
    first = 0

    def look(block: Values) -> None:
        nonlocal first
        if shards.form is Form.PLAIN:
            found = probe(block)
            at = range(first, first + len(block))
            refuse_if(check_rows(shard.name, at, block, found, shards.layout.kind))
            kinds.add(found.kind)
        first += len(block)
        progress(len(block))

    return entry(shard, rows, look)


def _file(layout: Layout, form: Form, rows: int, entries: tuple[ShardEntry, ...]) -> LayoutFile:
    return LayoutFile(
        surefit_layout=VERSION,
        steps=layout.steps,
        features=layout.features,
        dtype=layout.dtype,
        kind=layout.kind.value if layout.kind else None,
        form=form.value,
        rows_in_block=rows,
        shards=entries,
    )
