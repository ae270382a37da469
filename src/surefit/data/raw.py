"""A row as its source holds it, before anything is known of its columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from surefit.doctor.findings import Place

from .bad_rows import BadRow


@dataclass(frozen=True, slots=True)
class RawRow:
    """Columns and their values, with the place they were read from."""

    place: Place
    values: dict[str, object]


RawRows: TypeAlias = Iterator[RawRow | BadRow]
"""Rows as they are read; a bad one takes the place of the row it could not become."""
