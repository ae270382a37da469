"""One file of rows, as its header describes it; no row is read for that."""

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from pathlib import Path

import numpy as np


class Form(StrEnum):
    """How the rows of a file lie on disk."""

    PLAIN = "plain"
    """Values of the declared dtype, row after row, from `offset` on: read in place."""

    IDS = "ids"
    """Packed one-hot rows: for each step the index of its 1."""

    BITS = "bits"
    """Packed multi-hot rows: a bit for each feature, each row from a whole byte on."""

    DECODED = "decoded"
    """Inside a format that must be decoded, in parts or whole: no row has an address."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of rows that was opened and described; nothing of it is held open."""

    path: Path
    name: str
    """As users are told of it: its path from the data folder on."""

    form: Form
    rows: int
    shape: tuple[int, ...]
    """Of one row, as it will be given."""

    dtype: str
    """Of the values that are given, by its name in NumPy."""

    offset: int | None
    """Where the first row begins, in bytes; None where rows have no address."""

    stored_row_bytes: int
    """From one row to the next on disk; for `DECODED`, of a decoded row."""

    size: int
    """Of the file, in bytes, when it was described; a reader finds out that it has changed."""

    changed_ns: int
    """When the file was last changed, as `st_mtime_ns`, when it was described."""

    stored_dtype: str = ""
    """Of what lies on disk: of the ids for `IDS`, of bytes for `BITS`, else that of the values."""

    inside: str = ""
    """The tensor, column or member, where a file can hold several."""

    part: int | None = None
    """The record batch of an Arrow file, from 0: each is a shard of its own."""

    whole: str = ""
    """Why every read must begin at the beginning of the file, where it must."""

    @property
    def key(self) -> str:
        """A name of its own for each record batch."""
        return shard_key(self.name, self.part)

    @property
    def row_bytes(self) -> int:
        """Of one row as it will be given."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def shard_key(name: str, part: int | None) -> str:
    return name if part is None else f"{name}, batch {part}"
