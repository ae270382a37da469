"""Inputs and targets of the first training steps, held against arrays in the user's frames."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_pairs import ArrayPair, RowPairs
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.autopsy.values import is_a, is_tensor
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.frame_tables import (
    is_pandas,
    own_frames,
    tensor_of,
    variables_of,
    width_of,
)
from surefit.observe.inside.training.label_order import MOST_ROWS, classes
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.model_rows import rows_of
from surefit.observe.inside.training.row_prints import prints_of
from surefit.observe.inside.training.under_way import now

CALLS = 8
"""Losses that are looked at, at most."""
FORWARDS = 64
"""Calls of models until these must have come."""
ENOUGH_ROWS = 160
FEWEST_ROWS = 32
MOST_ARRAYS = 8
WIDE = 8
"""Elements of a row of integers: with fewer, rows are equal by chance."""
LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


@dataclass(slots=True)
class PairState:
    """Of this process."""

    waiting: Any = None
    """Prints of what a model was called with last."""
    calls: int = 0
    forwards: int = 0
    trained: dict[int, float] = field(default_factory=dict)
    """Print of an input row -> its target."""
    of_numbers: bool = False
    """Targets are measured, not classes."""
    width: int = 0
    pairs: list[ArrayPair] = field(default_factory=list)
    step: int = 0
    done: bool = False
    written: bool = False


state = PairState()


@events.on(events.forward_begun)
def forward_begun(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if state.done:
        events.forward_begun.rest(forward_begun)
        return
    state.waiting = None
    state.forwards += 1
    state.done = state.forwards > FORWARDS
    if not (now.grad and now.training) or not readable.can_look():
        return
    with readable.looking():
        rows = rows_of(args, kwargs)
    if rows is not None and rows.width > 1 and (rows.continuous or rows.width >= WIDE):
        state.waiting = rows


@events.on(events.loss_ended)
def lost(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    _result: Any,
    _place: Place | None,
    grad: bool,
) -> None:
    if state.done:
        events.loss_ended.rest(lost)
        return
    rows, state.waiting = state.waiting, None
    if not grad:
        return
    state.calls += 1
    if rows is not None and name in (*LOSSES, *OF_NUMBERS) and readable.can_look():
        with readable.looking():
            target = args[1] if len(args) > 1 else kwargs.get("target")
            labels: Sequence[float] | None = classes(target) if name in LOSSES else numbers(target)
        state.of_numbers = name in OF_NUMBERS
        if labels and len(labels) == len(rows.exact):
            state.trained.update(zip(rows.exact, labels, strict=True))
            state.width = rows.width
    if len(state.trained) >= ENOUGH_ROWS or state.calls >= CALLS:
        state.done = True
        if len(state.trained) >= FEWEST_ROWS:
            with readable.looking():
                _examine()
        state.trained.clear()


def numbers(value: Any) -> list[float] | None:
    """One for each row, also as one column."""
    tensor = readable.plain(value) if is_tensor(value) else None
    if tensor is None or not tensor.is_cpu or not 0 < tensor.numel() <= MOST_ROWS:
        return None
    one_each = tensor.dim() and tensor.shape[0] == tensor.numel()
    return [float(number) for number in tensor.flatten().tolist()] if one_each else None


def _examine() -> None:
    """Once; what is found first is nearest to the loss."""
    state.step = noted.steps
    for frame in own_frames(2):
        state.pairs += _pairs(variables_of(frame), own_code.place(frame))


def _pairs(values: dict[str, Any], place: Place) -> Iterator[ArrayPair]:
    tables = [(name, value) for name, value in values.items() if width_of(value) == state.width]
    for name, table in tables[:MOST_ARRAYS]:
        positions, length = _positions(table)
        if 2 * len(positions) < len(state.trained):
            continue
        for other, column in list(values.items()):
            labels = (_measured if state.of_numbers else _labels)(column, length)
            if labels is not None and column is not table:
                apart = _apart(table, column, list(positions))
                yield _pair(place, (name, other), positions, labels, apart)


def _positions(table: Any) -> tuple[dict[int, float], int]:
    """Position in the table -> target, of trained rows that are found in it: as they are, or
    standardised by the table's own mean and deviation."""
    tensor = tensor_of(table)
    if tensor is None or tensor.shape[0] < 2:
        return {}, 0
    wide = tensor.double() if not tensor.dtype.is_floating_point else tensor
    for numbers in _ways(wide):
        prints = prints_of(numbers)
        if prints is None:
            continue
        known = Counter(prints.exact)
        found = {
            at: state.trained[row]
            for at, row in enumerate(prints.exact)
            if row in state.trained and known[row] == 1
        }
        if found:
            return found, int(tensor.shape[0])
    return {}, 0


def _ways(table: Any) -> Iterator[Any]:
    yield table.float() if table.dtype is readable.torch().float64 else table
    if table.dim() == 2:
        yield _scaled(table, 1)
        yield _scaled(table, 0)


def _scaled(table: Any, correction: int) -> Any:
    return ((table - table.mean(0)) / table.std(0, correction=correction)).float()


def _labels(column: Any, length: int) -> list[int] | None:
    """Integers, one for each row of a table."""
    if type(column) is list and len(column) == length and all(type(at) is int for at in column):
        return list(column)
    if not (
        is_tensor(column) or is_a(column, "numpy", "ndarray") or is_a(column, "pandas", "Series")
    ):
        return None
    if len(column.shape) != 1 or int(column.shape[0]) != length:
        return None
    tensor = tensor_of(column)
    if tensor is None or (
        tensor.dtype.is_floating_point and bool((tensor != tensor.round()).any())
    ):
        return None
    return [int(label) for label in tensor.tolist()]


def _measured(column: Any, length: int) -> list[float] | None:
    """Numbers, one for each row of a table, of which the targets are some."""
    if not (is_tensor(column) or is_pandas(column, "Series") or is_a(column, "numpy", "ndarray")):
        return None
    shape = tuple(int(size) for size in column.shape)
    tensor = tensor_of(column) if shape in ((length,), (length, 1)) else None
    held = [] if tensor is None else [float(number) for number in tensor.float().flatten().tolist()]
    return held if set(held).issuperset(state.trained.values()) else None


def _apart(table: Any, column: Any, positions: list[int]) -> int:
    """An index that counts from 0 says nothing: positions were numbered again."""
    if not is_pandas(table, "DataFrame") or not is_pandas(column, "Series"):
        return 0
    if any(is_pandas(part.index, "RangeIndex") for part in (table, column)):
        return 0
    first, second = table.index.tolist(), column.index.tolist()
    if len(set(first)) < len(first) or set(first) != set(second):
        return 0
    return sum(first[at] != second[at] for at in positions)


def _pair(
    place: Place,
    names: tuple[str, str],
    positions: dict[int, float],
    labels: Sequence[float],
    apart: int,
) -> ArrayPair:
    rows = len(positions)
    together = Counter((labels[at], target) for at, target in positions.items())
    targets = Counter(positions.values())
    held = Counter(labels)
    equal = sum(labels[at] == target for at, target in positions.items())
    best: dict[float, int] = {}
    for (label, _), count in together.items():
        best[label] = max(best.get(label, 0), count)
    kinds = set(targets) | set(held)
    unlike = sum(abs(targets[kind] / rows - held[kind] / len(labels)) for kind in kinds) / 2
    return ArrayPair(
        place=place,
        inputs=names[0],
        targets=names[1],
        length=len(labels),
        rows=rows,
        equal=equal,
        mapped=equal if state.of_numbers else sum(best.values()),
        majority=max(targets.values()),
        unlike=0.0 if state.of_numbers else unlike,
        apart=apart,
    )


@finishing.at_end
@periodic.every_few_seconds
@guarded("pairs of rows and labels")
def write() -> None:
    if not state.done or state.written:
        return
    state.written = True
    rows = max((pair.rows for pair in state.pairs), default=0)
    spool.saw(
        RowPairs(process=spool.process(), step=state.step, rows=rows, pairs=tuple(state.pairs))
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
