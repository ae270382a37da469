"""Ways to take the values of a file as rows `[rows, steps, features]`, and the reading of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from math import prod

import numpy as np

from .damaged_files import named
from .decode import Values, decode_rows, fill
from .headers import Header

Groups = tuple[tuple[str, ...], ...]
"""For each stored axis, what it is: `rows`, `steps`, `features`, several that are merged, or
nothing for an axis of size 1."""

AXES = ("rows", "steps", "features")


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to take stored values as rows."""

    word: str
    """By which the user can choose it: `--as WORD`."""

    rows: int
    steps: int
    features: int
    order: tuple[str, ...]
    """Of the axes as the values lie in the file, from the slowest to the fastest."""

    says: str
    """What the values are, if this is the way to read them."""

    @property
    def sizes(self) -> tuple[int, ...]:
        of = {"rows": self.rows, "steps": self.steps, "features": self.features}
        return tuple(of[axis] for axis in self.order)

    @property
    def row_values(self) -> int:
        return self.steps * self.features

    @property
    def in_place(self) -> bool:
        """Whether the values of a row lie beside each other."""
        return self.order[0] == "rows"


def reading(
    word: str, groups: Groups, header: Header, steps: int, features: int, says: str
) -> Reading:
    """In Fortran order the stored axes follow each other the other way round."""
    stored = groups[::-1] if header.fortran else groups
    order = tuple(axis for group in stored for axis in group)
    rows = header.values // (steps * features)
    order = order if "rows" in order else ("rows", *order)
    return Reading(word, rows, steps, features, order, says)


class StoredValues:
    """The values of a header, in the order in which they lie; use `open_values`."""

    def __init__(self, header: Header, file: FileIO | None) -> None:
        self.header = header
        self._file = file
        self._decoded: Values | None = None

    def take(self, first: int, count: int) -> Values:
        """So many values from the `first` on, in this machine's byte order."""
        header = self.header
        if header.held is not None:
            return header.held.reshape(-1)[first : first + count]
        if self._file is not None:
            assert header.offset is not None
            values = np.empty(count, header.dtype)
            begin = header.offset + first * header.dtype.itemsize
            fill(self._file, begin, values, header.name)
            return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder())
        each = prod(header.shape[1:])
        rows = first // each, -(-(first + count) // each)
        flat = self._rows(*rows).reshape(-1)
        return flat[first - rows[0] * each :][:count]

    def _rows(self, first: int, last: int) -> Values:
        """Files that can only be decoded whole are decoded once."""
        header = self.header
        where = header.path, header.name, header.inside, header.part
        if header.path.suffix.lower() == ".parquet":
            return decode_rows(*where, first, last)
        if self._decoded is None:
            self._decoded = decode_rows(*where, 0, header.rows)
        return self._decoded[first:last]


@contextmanager
def open_values(header: Header) -> Iterator[StoredValues]:
    """Refuses a file that can no longer be opened."""
    if header.offset is None:
        yield StoredValues(header, None)
        return
    with named(header.path, header.name):
        file = header.path.open("rb", buffering=0)
    with file:
        yield StoredValues(header, file)


def read_rows(values: StoredValues, how: Reading, first: int, last: int) -> Values:
    """Rows `first` to `last` (not included), `[rows, steps, features]`."""
    at = how.order.index("rows")
    before, after = prod(how.sizes[:at]), prod(how.sizes[at + 1 :])
    parts = [
        values.take((lead * how.rows + first) * after, (last - first) * after)
        for lead in range(before)
    ]
    sizes = list(how.sizes)
    sizes[at] = last - first
    stored = (np.concatenate(parts) if len(parts) > 1 else parts[0]).reshape(sizes)
    return stored.transpose([how.order.index(axis) for axis in AXES])
