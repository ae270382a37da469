"""Tokens in an Arrow file: ids, the stretches of them that the loss sees, and counts."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .arrow_files import ArrowFile, ArrowWriter
from .bad_rows import BadRows
from .made import Chosen, Made
from .row import IGNORED, Row, Tokens

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

ROWS_AT_ONCE = 1024
TOKENS_AT_ONCE = 1 << 22
COUNTS = ("at", "number", "length", "answer_at", "cut", "supervised", "highest_id")


class TokenSet:
    """Rows that became tokens, side by side with them, and rows that could not.

    Only counts are in memory, one number a row in each array: `lengths`, `supervised` (places that
    the loss sees), `highest_ids`, `answer_lengths` and `cuts` (characters).
    """

    def __init__(self, rows: Sequence[Row], file: ArrowFile, bad: BadRows | None = None) -> None:
        self.file = file
        self.bad = bad or BadRows()
        count = {name: _whole_column(file, name) for name in COUNTS}
        self.lengths: NDArray[np.int64] = count["length"]
        self.supervised: NDArray[np.int64] = count["supervised"]
        self.highest_ids: NDArray[np.int64] = count["highest_id"]
        self.answer_lengths: NDArray[np.int64] = count["length"] - count["answer_at"]
        self.cuts: NDArray[np.int64] = count["cut"]
        self.rows: Sequence[Row] = rows if len(rows) == len(file) else Chosen(rows, count["at"])
        self.tokens: Sequence[Tokens] = Made(len(file), self._tokens)
        self._numbers, self._answer_at = count["number"], count["answer_at"]
        self._columns: dict[int, tuple[Any, ...]] = {}

    @classmethod
    def of(cls, rows: Sequence[Row], tokens: Sequence[Tokens]) -> "TokenSet":
        """Rows and their tokens that are in memory already."""
        with TokenWriter() as writer:
            for at, one in enumerate(tokens):
                writer.add(at, one)
            return writer.finish(rows, BadRows())

    def __len__(self) -> int:
        return len(self.lengths)

    def features(self, chosen: Iterable[int]) -> list[dict[str, "NDArray[np.int32]"]]:
        """The rows at these places, as a collator wants them: `input_ids` and `labels`."""
        return [self._feature(int(at)) for at in chosen]

    def fingerprint(self) -> str:
        """Of all ids and of what the loss sees of them, in their order."""
        import numpy as np

        ids, spans, counts = blake2b(), blake2b(), blake2b(self.lengths.data)
        for batch in self.file.batches():
            ids.update(_values(batch.column("ids")).data)
            spans.update(_values(batch.column("spans")).data)
            counts.update(np.diff(_offsets(batch.column("spans"))).data)
        every = b"".join(part.digest() for part in (ids, spans, counts))
        return blake2b(every, digest_size=16).hexdigest()

    def _feature(self, at: int) -> dict[str, "NDArray[np.int32]"]:
        import numpy as np

        batch, place = self.file.find(at)
        all_ids, ids_at, all_spans, spans_at = self._columns.get(batch) or self._open(batch)
        # A copy, so that the page that holds it can go.
        ids = all_ids[ids_at[place] : ids_at[place + 1]].copy()
        labels = np.full(len(ids), IGNORED, dtype=np.int32)
        spans = all_spans[spans_at[place] : spans_at[place + 1]].tolist()
        for begin, end in zip(spans[::2], spans[1::2], strict=True):
            labels[begin:end] = ids[begin:end]
        return {"input_ids": ids, "labels": labels}

    def _tokens(self, at: int) -> Tokens:
        made = self._feature(at)
        return Tokens(
            made["input_ids"].tolist(),
            made["labels"].tolist(),
            int(self._answer_at[at]),
            int(self._numbers[at]),
            int(self.cuts[at]),
        )

    def _open(self, number: int) -> "tuple[NDArray[np.int32], ...]":
        batch = self.file.batch(number)
        ids, spans = batch.column("ids"), batch.column("spans")
        opened = _values(ids), _offsets(ids), _values(spans), _offsets(spans)
        self._columns[number] = opened
        return opened


class TokenWriter:
    """Tokens on their way to a file at `path`, or into memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._waiting: list[tuple[int, Tokens]] = []
        self._tokens = 0
        self._writer = ArrowWriter(_schema(), path)

    def __enter__(self) -> "TokenWriter":
        return self

    def add(self, at: int, tokens: Tokens) -> None:
        """`at` is the place of the row among the rows that are made into tokens."""
        self._waiting.append((at, tokens))
        self._tokens += len(tokens.ids)
        if len(self._waiting) == ROWS_AT_ONCE or self._tokens > TOKENS_AT_ONCE:
            self._write()

    def finish(self, rows: Sequence[Row], bad: BadRows) -> TokenSet:
        self._write()
        return TokenSet(rows, self._writer.finish(), bad)

    def _write(self) -> None:
        waiting, self._waiting, self._tokens = self._waiting, [], 0
        if waiting:
            self._writer.add(_batch([at for at, _ in waiting], [one for _, one in waiting]))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.__exit__(kind, error, trace)


def _schema() -> "pa.Schema":
    import pyarrow as pa

    counts = [pa.field(name, pa.int32()) for name in COUNTS]
    lists = [pa.field(name, pa.list_(pa.int32())) for name in ("ids", "spans")]
    return pa.schema([*counts, *lists])


def _batch(places: list[int], tokens: list[Tokens]) -> "pa.RecordBatch":
    import numpy as np
    import pyarrow as pa

    lengths = np.array([len(one.ids) for one in tokens], dtype=np.int32)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.fromiter(chain.from_iterable(one.ids for one in tokens), np.int32, ends[-1])
    labels = np.fromiter(chain.from_iterable(one.labels for one in tokens), np.int32, ends[-1])
    seen = labels != IGNORED
    spans, spans_at = _spans(seen, ends)
    counts = (
        places,
        [one.number for one in tokens],
        lengths,
        [one.answer_at for one in tokens],
        [one.cut for one in tokens],
        _supervised(seen, ends),
        [max(one.ids, default=-1) for one in tokens],
    )
    columns = [
        *(pa.array(values, pa.int32()) for values in counts),
        pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(ids)),
        pa.ListArray.from_arrays(pa.array(spans_at, pa.int32()), pa.array(spans, pa.int32())),
    ]
    return pa.record_batch(columns, schema=_schema())


def _supervised(seen: "NDArray[np.bool_]", ends: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Places of each row that the loss sees; the first token of a row has no prediction."""
    import numpy as np

    up_to = np.concatenate([[0], np.cumsum(seen)])
    after_first = np.minimum(ends[:-1] + 1, ends[1:])
    counted: NDArray[np.int64] = up_to[ends[1:]] - up_to[after_first]
    return counted


def _spans(
    seen: "NDArray[np.bool_]", ends: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Begin and end, in its row, of every stretch that the loss sees; where each row's are."""
    import numpy as np

    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    same_row = row[1:] == row[:-1]
    begins = seen & ~np.concatenate([[False], seen[:-1] & same_row])[: len(seen)]
    lasts = seen & ~np.concatenate([seen[1:] & same_row, [False]])[: len(seen)]
    begin, last = np.flatnonzero(begins), np.flatnonzero(lasts)
    of = row[begin]
    spans = np.stack([begin - ends[of], last + 1 - ends[of]], axis=1).reshape(-1)
    return spans, np.concatenate([[0], 2 * np.cumsum(np.bincount(of, minlength=len(ends) - 1))])


def _whole_column(file: ArrowFile, name: str) -> "NDArray[np.int64]":
    """In 64 bits, so that a sum of lengths cannot overflow."""
    import numpy as np

    parts = [batch.column(name).to_numpy().astype(np.int64) for batch in file.batches()]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _values(column: Any) -> "NDArray[np.int32]":
    values: NDArray[np.int32] = column.values.to_numpy()
    return values


def _offsets(column: Any) -> "NDArray[np.int32]":
    offsets: NDArray[np.int32] = column.offsets.to_numpy()
    return offsets
