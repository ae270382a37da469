"""Rows that a loader gave, by the numbers that a sampler drew and by content."""

import os
from collections import Counter, deque
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_use import RowCoverage, StreamCopies
from surefit.observe.inside import epochs, finishing, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor
from surefit.observe.inside.identity import identity
from surefit.observe.inside.plain_lengths import plain_length
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.row_prints import prints_of
from surefit.observe.inside.unseen import around

SAMPLERS = "torch.utils.data.sampler"
DRAWING = ("SequentialSampler", "RandomSampler")
MOST_ROWS = 200_000
MOST_LOOKED = 4096
MOST_PASSES = 32
MOST_WAITING = 512
MOST_LOADERS = 16
MOST_COMPARED = 64

_drawn: dict[int, deque[list[int]]] = {}
"""Numbers of rows that were drawn and have not come yet, by the iterator that draws them."""


@after_import("torch.utils.data.dataloader")
def drawing(module: ModuleType) -> None:
    kind = module._BaseDataLoaderIter
    kind._next_index = around(kind._next_index, _always, _is_drawn)


def _always(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _is_drawn(args: tuple[Any, ...], numbers: Any) -> None:
    if type(numbers) is not list or not numbers or type(numbers[0]) is not int:
        return
    key = identity(attributes(args[0]).get("_sampler_iter"))
    waiting = _drawn.get(key)
    if waiting is None:
        waiting = _drawn[key] = deque(maxlen=MOST_WAITING)
        if len(_drawn) > MOST_LOADERS:
            del _drawn[next(iter(_drawn))]
    waiting.append(numbers)


def numbers_of(held: dict[str, Any]) -> list[int]:
    """Of the rows of the batch that has come: loaders give batches in the order of drawing."""
    waiting = _drawn.get(identity(held.get("_sampler_iter")))
    return waiting.popleft() if waiting else []


def planned_rows(sampler: Any, dataset: Any, rows: int | None) -> int | None:
    """How many rows samplers of torch's own draw from; None for those of users, and for weights."""
    inner = attributes(sampler).get("sampler", sampler)
    if is_a(inner, SAMPLERS, "SubsetRandomSampler"):
        indices: Any = attributes(inner).get("indices")
        return len(set(indices)) if type(indices) in (list, range) else None
    if any(is_a(inner, SAMPLERS, name) for name in DRAWING):
        return rows if attributes(inner).get("data_source") is dataset else None
    return None


def other_rows(sampler: Any, dataset: Any) -> int | None:
    """Rows of the dataset that a sampler draws from, where that is another than the loader's."""
    inner = attributes(sampler).get("sampler", sampler)
    source = attributes(inner).get("data_source")
    dataset_kind = is_a(source, "torch.utils.data.dataset", "Dataset")
    if source is None or source is dataset or not dataset_kind:
        return None
    rows = epochs.rows_of(source)
    return rows if rows is not None else plain_length(source)


def read_at(dataset: Any) -> Place | None:
    """The user's own `__iter__` or `__getitem__`."""
    for name in ("__iter__", "__getitem__"):
        code = getattr(vars(type(dataset)).get(name), "__code__", None)
        if code is not None and own_code.own(code):
            return Place(os.path.abspath(code.co_filename), code.co_firstlineno)
    return None


@dataclass(slots=True)
class DrawnRows:
    """See `RowCoverage`."""

    planned: int
    numbers: set[int] = field(default_factory=set)
    fresh: list[int] = field(default_factory=list)
    owners: dict[int, int] = field(default_factory=dict)
    """Content of a row -> the first number that it came under."""
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    """Numbers of two rows of the same content, and that content."""
    looked: int = 0
    alike: int = 0

    def add(self, numbers: list[int], serial: int) -> None:
        if not 0 < serial <= MOST_PASSES or len(self.numbers) >= MOST_ROWS:
            return
        before = len(self.numbers)
        self.numbers.update(numbers)
        self.fresh += [0] * (serial - len(self.fresh))
        self.fresh[serial - 1] += len(self.numbers) - before

    def look(self, numbers: list[int], prints: list[int]) -> None:
        """At content, in the first way through."""
        if len(numbers) != len(prints) or self.looked >= MOST_LOOKED:
            return
        for number, content in zip(numbers, prints, strict=True):
            owner = self.owners.setdefault(content, number)
            self.looked += 1
            if owner != number:
                self.alike += 1
                if len(self.pairs) < MOST_COMPARED:
                    self.pairs.append((owner, number, content))

    def measured(self, dataset: Any) -> RowCoverage:
        apart = stored_apart(dataset, self.pairs) if self.pairs else 0
        share = apart / len(self.pairs) if self.pairs else 0.0
        return RowCoverage(
            planned=self.planned,
            used=len(self.numbers),
            fresh=tuple(self.fresh),
            alike=self.alike,
            stored_apart=int(share * self.alike),
            looked=self.looked,
        )


def stored_apart(dataset: Any, pairs: list[tuple[int, int, int]]) -> int:
    """Of an array that the dataset stores with a row for each number: pairs of which the first came
    as it is stored, and the second came as the first."""
    numbers = [number for first, second, _ in pairs for number in (first, second)]
    for value in list(attributes(dataset).values()):
        array = value if is_tensor(value) else _as_tensor(value)
        if array is None or array.dim() < 2 or array.shape[0] <= max(numbers):
            continue
        with readable.looking():
            prints = prints_of(array[numbers]) if array.dtype.is_floating_point else None
        stored = prints.exact if prints is not None else []
        both = zip(pairs, stored[::2], stored[1::2], strict=False)
        apart = sum(first == content != second for (_, _, content), first, second in both)
        if apart:
            return apart
    return 0


def _as_tensor(value: Any) -> Any:
    plain = is_a(value, "numpy", "ndarray") and value.dtype.kind == "f"
    return readable.torch().from_numpy(value) if plain and value.flags.writeable else None


@dataclass(slots=True)
class CopiedRows:
    """See `StreamCopies`."""

    workers: int
    rows: Counter[int] = field(default_factory=Counter)
    group: list[int] = field(default_factory=list)
    last: int = 0
    groups: int = 0
    equal: int = 0
    whole: bool = True
    """Every batch of the first way through was looked at."""

    def add(self, prints: list[int], serial: int) -> None:
        if serial > 1 or len(self.rows) > MOST_LOOKED:
            return
        if not prints:
            self.whole = False
            return
        self.rows.update(prints)
        self.group.append(hash(tuple(prints)))
        if len(self.group) == self.workers:
            first = self.group[0]
            self.groups += 1
            self.equal += len(set(self.group)) == 1 and first != self.last
            self.last, self.group = first, []

    def measured(self, finished: bool) -> StreamCopies:
        times = set(self.rows.values())
        known = finished and self.whole and len(times) == 1 and len(self.rows) <= MOST_LOOKED
        return StreamCopies(
            groups=self.groups,
            equal_groups=self.equal,
            distinct=len(self.rows),
            each=times.pop() if known else 0,
        )


@finishing.after_fork
def forget_parent() -> None:
    _drawn.clear()
