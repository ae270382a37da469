"""Record batches in an Arrow file, or in memory: written a batch at a time, read where they lie."""

import mmap
import shutil
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.writing import FULL_DISK_WORDS

if TYPE_CHECKING:
    import pyarrow as pa

NO_ROOM_TO_WORK = refusal(
    "SF136",
    "no-room-to-work",
    "Rows and tokens are stored on disk during a run, so only a few are in memory at a time.",
)

BATCHES_KEPT = 16
"""After so many batches were looked into, their pages are given back to the system."""


class ArrowFile:
    """Rows of columns, found by their place. Pages that were read do not stay in memory."""

    def __init__(self, lies: "Path | pa.Buffer") -> None:
        import pyarrow as pa

        self.path = lies if isinstance(lies, Path) else None
        self._map: mmap.mmap | None = None
        if isinstance(lies, Path):
            with lies.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            lies = pa.py_buffer(self._map)
        self._reader = pa.ipc.open_file(lies)
        self.metadata: dict[bytes, bytes] = self._reader.schema.metadata or {}
        self._batches: list[Any] = [
            self._reader.get_batch(at) for at in range(self._reader.num_record_batches)
        ]
        self._ends = list(accumulate(batch.num_rows for batch in self._batches))
        self._last = -1
        self._looked = 0

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def find(self, at: int) -> tuple[int, int]:
        """Which batch holds a row, and where in it."""
        number = bisect_right(self._ends, at)
        if number != self._last:
            self._last = number
            self._looked += 1
            if self._looked % BATCHES_KEPT == 0:
                self.let_go()
        return number, at - (self._ends[number - 1] if number else 0)

    def batch(self, number: int) -> Any:
        return self._batches[number]

    def batches(self) -> Iterator[Any]:
        """All batches in their order; few of them are in memory at once."""
        for number, batch in enumerate(self._batches):
            yield batch
            if number % BATCHES_KEPT == 0:
                self.let_go()

    def let_go(self) -> None:
        """The pages stay in the file, and in the system's cache while there is room for it."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class ArrowWriter:
    """Makes an `ArrowFile` at a path, or in memory if there is none; a failure leaves no file."""

    def __init__(self, schema: "pa.Schema", path: Path | None) -> None:
        import pyarrow as pa

        self._path = path
        if path is None:
            self._sink = pa.BufferOutputStream()
        else:
            with room_for(path):
                self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def __enter__(self) -> "ArrowWriter":
        return self

    def add(self, batch: "pa.RecordBatch") -> None:
        with room_for(self._path):
            self._writer.write_batch(batch)

    def finish(self) -> ArrowFile:
        with room_for(self._path):
            self._writer.close()
            if self._path is None:
                return ArrowFile(self._sink.getvalue())
            self._sink.close()
        return ArrowFile(self._path)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self._path is not None:
            self._path.unlink(missing_ok=True)


@contextmanager
def room_for(path: Path | None) -> Iterator[None]:
    """Says in a finding that the disk was full while this was written."""
    try:
        yield
    except OSError as error:
        if path is None or not any(word in str(error) for word in FULL_DISK_WORDS):
            raise
        raise BadInput(_no_room(path, error)) from error


def _no_room(path: Path, error: OSError) -> Finding:
    free = shutil.disk_usage(path.parent).free
    return NO_ROOM_TO_WORK.finding(
        Place(str(path.parent)),
        "The disk is full that holds rows and tokens while the run lasts.",
        facts=(
            Fact("free there", f"{free:,} bytes"),
            Fact("written so far", f"{path.stat().st_size if path.exists() else 0:,} bytes"),
        ),
        why="A row takes about as many bytes as it has letters, and four more for each token.",
        fixes=(Fix("Make room there, or name a folder on another disk:  TMPDIR=FOLDER"),),
        python_said=str(error).splitlines()[0],
    )
