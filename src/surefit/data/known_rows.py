"""What a run keeps of the rows it was trained on: to ask as they asked, and to know them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from surefit.writing import put

from .row import Row
from .shingles import plain
from .turns import Kind, Turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABOUT, DIGESTS = "training-rows.json", "training-rows.npy"
"""In a run folder."""

MOST_SYSTEMS = 1000
"""Different system turns that are counted; more are not told apart."""


@dataclass(frozen=True, slots=True)
class InCommon:
    """What all training rows have in common."""

    kind: Kind
    rows: int
    system: str | None
    """The system turn that every one of them begins with."""

    systems: int
    """How many different ones there are; 0 where no row has any."""

    turns: int
    """The most questions of one row."""


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The training rows of a run: what they have in common, and 64 bits of each."""

    about: InCommon
    digests: "NDArray[Any]"
    """Sorted."""

    def holds(self, rows: Sequence[Row]) -> "NDArray[Any]":
        """Of each row, whether it was trained on: the same question and the same answer, without
        regard to case, to white space and to system turns."""
        import numpy as np

        found: NDArray[Any] = np.isin(digests_of(rows), self.digests)
        return found


def known_rows(rows: Sequence[Row], kind: Kind) -> KnownRows:
    """Of rows as they are in their source, before augmentation."""
    import numpy as np

    systems: set[str] = set()
    without, turns = False, 0
    digests = np.empty(len(rows), dtype=np.uint64)
    for at, row in enumerate(rows):
        digests[at] = _digest(row)
        turns = max(turns, sum(turn.role == "user" for turn in row.turns))
        said = "\n\n".join(turn.text for turn in row.turns if turn.role == "system")
        without = without or not said
        if said and len(systems) < MOST_SYSTEMS:
            systems.add(said)
    common = next(iter(systems)) if len(systems) == 1 and not without else None
    digests.sort()
    return KnownRows(InCommon(kind, len(rows), common, len(systems), turns), digests)


def write_known_rows(folder: Path, known: KnownRows) -> None:
    import numpy as np

    np.save(folder / DIGESTS, known.digests)
    put(folder / ABOUT, msgspec.json.encode(known.about))


def read_known_rows(folder: Path) -> KnownRows | None:
    """None for a run that kept nothing of them."""
    import numpy as np

    if not (folder / ABOUT).exists():
        return None
    about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=InCommon)
    return KnownRows(about, np.load(folder / DIGESTS))


def with_system(row: Row, system: str | None) -> Row:
    """The row, beginning with this system turn unless it has one of its own."""
    if not system or any(turn.role == "system" for turn in row.turns):
        return row
    return Row(row.number, row.place, (Turn("system", system), *row.turns))


def digests_of(rows: Sequence[Row]) -> "NDArray[Any]":
    import numpy as np

    return np.fromiter((_digest(row) for row in rows), np.uint64, len(rows))


def _digest(row: Row) -> int:
    turns = "\0".join(plain(turn.text) for turn in row.turns if turn.role != "system")
    content = turns.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
