"""What was found in feature arrays: plain data, for people and as JSON."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShardSeen:
    """One file, or one array that is in memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    """Of the file; of its values where it is in memory."""

    scenario: str | None
    """Which it is beside the declared layout; None where nothing is declared."""

    kind: str | None = None
    """Of the rows that were looked at, read as declared where that is known."""

    looked_at: int = 0
    low: float | None = None
    high: float | None = None
    nonzero: float | None = None
    sums_to_one: tuple[str, ...] = ()
    """Axes along which every sum is 1."""

    shortest: int | None = None
    """Steps before those at the end of a row that are all zero; of the row with the fewest."""

    longest: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """One thing that a model and the data must agree on."""

    name: str
    said: str
    fits: bool | None
    """None where it is only told."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A row in characters: a line for each step, a column for several features."""

    title: str
    lines: tuple[str, ...]
    legend: str


@dataclass(frozen=True, slots=True)
class ArrayInspection:
    """What is in a folder of arrays, in a batch or in an array."""

    source: str
    declared: str | None
    rows: int | None
    """None where what a row is is not known."""

    bytes: int
    shards: tuple[ShardSeen, ...]
    files: int = 0
    """None of them for what is in memory."""

    notes: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()
    pictures: tuple[Picture, ...] = ()
