"""Writes `surefit-layout.json`: the layout, and rows, bytes and checksums of every shard."""

from pathlib import Path

from surefit.writing import write_json

from .checksums import Progress, entry, rows_in_block
from .folder import Shards
from .layout_file import LAYOUT_FILE, VERSION, LayoutFile


def write_layout(shards: Shards, progress: Progress = lambda _: None) -> Path:
    """Reads every row once, for its checksum; the file appears whole or not at all."""
    rows = rows_in_block(shards.shards[0].stored_row_bytes)
    made = LayoutFile(
        surefit_layout=VERSION,
        steps=shards.layout.steps,
        features=shards.layout.features,
        dtype=shards.layout.dtype,
        kind=shards.layout.kind.value if shards.layout.kind else None,
        form=shards.form.value,
        rows_in_block=rows,
        shards=tuple(entry(shard, rows, progress) for shard in shards.shards),
    )
    path = shards.folder / LAYOUT_FILE
    write_json(path, made)
    return path
