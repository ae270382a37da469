"""Rows that a dataset stores, before and after they are fetched."""

import os
import weakref
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.stored_rows import FetchedRows, StoredChange
from surefit.observe.inside import finishing, origins, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import is_tensor, mapping
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.stored_arrays import (
    Path,
    StoredArray,
    arrays_of,
    kind_at,
    tensor_at,
)
from surefit.observe.inside.unseen import around

MOST_DATASETS = 8
MOST_FETCHES = 8
"""That are looked at where nothing changes."""
FEWEST_FETCHES = 2
ENOUGH_ROWS = 16
MOST_WATCHED = 8
MOST_EPOCHS = 4
"""Until rows that were changed once must have been changed again."""
AGAIN = 2
STATISTICS = 4096
"""Elements of a row of which mean and deviation are taken."""

budget = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class WatchedRow:
    """A stored row that a fetch has changed."""

    path: Path
    number: int | None
    """In the array; None: the array is the row."""
    index: int
    """Of the row in its dataset, as far as it is known."""
    before: tuple[float, float, int]
    """Sum, sum of squares and elements, before the first fetch."""
    after: tuple[float, float, int]
    """After the last that changed it."""
    times: int = 1
    unasked: int = 0
    """Changes while other rows were fetched."""


@dataclass(slots=True)
class Drift:
    """Of one attribute."""

    holder: Any
    """Weakly."""
    held: dict[str, Any]
    """What does not change from fetch to fetch, as the measure has it."""
    rows: list[WatchedRow] = field(default_factory=list)
    epochs: int = 0
    step: int = 0


@dataclass(slots=True)
class DatasetWatch:
    """Of one dataset."""

    fetches: int = 0
    rows: int = 0
    epochs: int = 0
    fetcher: int = 0
    drifts: dict[str, Drift] = field(default_factory=dict)
    done: bool = False


class StoredState:
    """Of this process."""

    def __init__(self) -> None:
        self.datasets: dict[int, DatasetWatch] = {}
        self.copies: list[tuple[StoredArray, int | None, Any]] = []
        """Rows as they were before the fetch that is running; a number: one row of the array."""
        self.indices: list[int] = []
        self.fetching: DatasetWatch | None = None
        self.changed = False


state = StoredState()


@after_import("torch.utils.data._utils.fetch")
def fetching(module: ModuleType) -> None:
    kind = module._MapDatasetFetcher
    kind.fetch = around(kind.fetch, _begins, _ended)


def _begins(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    dataset = args[0].dataset
    known = state.datasets.get(identity(dataset))
    if known is None:
        if len(state.datasets) >= MOST_DATASETS:
            return False
        known = state.datasets[identity(dataset)] = DatasetWatch()
    if known.done:
        return False
    if known.fetcher != identity(args[0]):
        known.fetcher = identity(args[0])
        known.epochs += 1
    indices = args[1] if type(args[1]) is list else [args[1]]
    if not all(type(index) is int and index >= 0 for index in indices) or not budget.allows():
        return False
    with budget, readable.looking():
        state.copies = _copies(known, dataset, indices)
    state.indices, state.fetching = indices, known
    return True


def _copies(
    known: DatasetWatch, dataset: Any, indices: list[int]
) -> list[tuple[StoredArray, int | None, Any]]:
    copies: list[tuple[StoredArray, int | None, Any]] = []
    if _looks_for_more(known):
        for array in arrays_of(dataset, indices):
            tensor = tensor_at(array.holder, array.path)
            if tensor is None:
                continue
            if array.rows is None:
                copies.append((array, None, tensor.clone()))
            else:
                copies += [(array, number, tensor[number].clone()) for number in array.rows]
        return copies
    for drift in known.drifts.values():
        holder = drift.holder()
        for row in drift.rows if holder is not None else ():
            tensor = tensor_at(holder, row.path)
            if tensor is not None:
                array = StoredArray(holder, row.path, None, row=row.index)
                part = tensor if row.number is None else tensor[row.number]
                copies.append((array, row.number, part.clone()))
    return copies


def _looks_for_more(known: DatasetWatch) -> bool:
    return known.fetches < FEWEST_FETCHES or (
        known.fetches < MOST_FETCHES and known.rows < ENOUGH_ROWS and not known.drifts
    )


def _ended(_args: tuple[Any, ...], batch: Any) -> None:
    known, state.fetching = state.fetching, None
    copies, state.copies = state.copies, []
    if known is None:
        return
    with budget, readable.looking():
        for array, number, before in copies:
            _compare(known, (array, number, before), batch)
    known.fetches += 1
    known.rows += len(state.indices)
    state.changed = True
    _judge(known)


def _compare(known: DatasetWatch, copy: tuple[StoredArray, int | None, Any], batch: Any) -> None:
    array, number, before = copy
    now = tensor_at(array.holder, array.path)
    if now is None:
        return
    now = now if number is None else now[number]
    if now.shape != before.shape:
        return
    unequal = (now != before) & ~((now != now) & (before != before))
    if not bool(unequal.any()):
        return
    if number is not None or array.row is not None:
        _note(known, array, number, (before, now), batch)
        return
    for row in unequal.flatten(1).any(1).nonzero().flatten().tolist()[:MOST_WATCHED]:
        _note(known, array, row, (before[row], now[row]), batch)


def _note(
    known: DatasetWatch,
    array: StoredArray,
    number: int | None,
    values: tuple[Any, Any],
    batch: Any,
) -> None:
    name = _name(array)
    before, now = values
    index = number if array.row is None else array.row
    drift = known.drifts.get(name)
    if drift is None:
        drift = Drift(weakref.ref(array.holder), _held(array, now, batch))
        known.drifts[name] = drift
    for row in drift.rows:
        if row.path == array.path and row.number == number:
            row.times += 1
            row.after = _sums(now)
            row.unasked += row.index not in state.indices
            return
    if len(drift.rows) < MOST_WATCHED:
        drift.rows.append(WatchedRow(array.path, number, index or 0, _sums(before), _sums(now)))


def _name(array: StoredArray) -> str:
    """`x`; `tensors[0]`; of a list of rows, the name of the list."""
    path = array.path if array.row is None else array.path[:1]
    return str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])


def _sums(row: Any) -> tuple[float, float, int]:
    flat = row.reshape(-1)[:STATISTICS].double()
    return float(flat.sum()), float((flat * flat).sum()), int(flat.numel())


def _is_in(row: Any, batch: Any) -> bool:
    """A row of the batch has the numbers that are stored now."""
    flat = row.reshape(-1)
    inside = mapping(batch)
    parts = list(inside.values()) if inside is not None else batch
    for part in parts if type(parts) in (list, tuple) else [parts]:
        tensor = readable.plain(part) if is_tensor(part) else None
        rows = len(state.indices)
        if tensor is None or not tensor.is_cpu or tensor.numel() != rows * flat.numel():
            continue
        if bool((tensor.detach().reshape(rows, -1) == flat.to(tensor.dtype)).all(1).any()):
            return True
    return False


def _judge(known: DatasetWatch) -> None:
    """Whether more fetches are looked at."""
    for drift in known.drifts.values():
        if not drift.epochs and _again(drift, known.epochs):
            drift.step, drift.epochs = noted.steps, known.epochs
    settled = all(drift.epochs for drift in known.drifts.values())
    known.done = not _looks_for_more(known) and (settled or known.epochs > MOST_EPOCHS)


def _again(drift: Drift, epochs: int) -> bool:
    """All of them; later, half."""
    again = sum(row.times >= AGAIN for row in drift.rows)
    enough = len(drift.rows) if epochs < MOST_EPOCHS else len(drift.rows) / 2
    return again >= max(enough, AGAIN)


@finishing.at_end
@periodic.every_few_seconds
@guarded("rows that a dataset stores")
def write() -> None:
    if not state.changed:
        return
    state.changed = False
    spool.saw(
        FetchedRows(
            process=spool.process(),
            steps=noted.steps,
            rows=sum(known.rows for known in state.datasets.values()),
            changes=tuple(
                _change(name, drift)
                for known in state.datasets.values()
                for name, drift in known.drifts.items()
            ),
        )
    )


def _held(array: StoredArray, now: Any, batch: Any) -> dict[str, Any]:
    kind = type(array.holder)
    code = getattr(vars(kind).get("__getitem__"), "__code__", None)
    own = code is not None and own_code.own(code)
    return {
        "dataset": kind.__name__,
        "kind": kind_at(array.holder, array.path),
        "place": Place(os.path.abspath(code.co_filename), code.co_firstlineno)
        if own and code is not None
        else origins.made_at(array.holder),
        "own": own,
        "returned": _is_in(now, batch),
    }


def _change(name: str, drift: Drift) -> StoredChange:
    mean, std = _statistics([row.before for row in drift.rows])
    mean_after, std_after = _statistics([row.after for row in drift.rows])
    return StoredChange(
        attribute=name,
        rows=len(drift.rows),
        again=sum(row.times >= AGAIN and not row.unasked for row in drift.rows),
        times=max(row.times for row in drift.rows),
        epochs=drift.epochs,
        step=drift.step,
        mean_before=mean,
        std_before=std,
        mean_after=mean_after,
        std_after=std_after,
        **drift.held,
    )


def _statistics(sums: list[tuple[float, float, int]]) -> tuple[float, float]:
    count = sum(part[2] for part in sums) or 1
    mean = sum(part[0] for part in sums) / count
    return mean, max(sum(part[1] for part in sums) / count - mean * mean, 0.0) ** 0.5


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
