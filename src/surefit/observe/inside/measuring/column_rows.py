"""Columns that are put into data frames before training, and the rows that get their values."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.measures.column_rows import AlignedColumn, ColumnRows
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import is_a
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.drawing import own_stack
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST_TIMES = 256
FEWEST_ROWS = 32
MOST_ROWS = 10_000_000


@dataclass(slots=True)
class ColumnState:
    """Of this process."""

    columns: int = 0
    aligned: list[AlignedColumn] = field(default_factory=list)
    changed: bool = False


state = ColumnState()


@after_import("pandas.core.frame")
def frames(module: ModuleType) -> None:
    """Not `__setitem__`, which counts references to its data frame."""
    kind = module.DataFrame
    kind._sanitize_column = around(vars(kind)["_sanitize_column"], _column)


def _column(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """Once a step was taken, what is put into a table is a result."""
    if noted.steps or state.columns >= MOST_TIMES or len(args) < 2:
        return False
    frame, column = args[0], args[1]
    is_series = is_a(column, "pandas", "Series")
    if not is_series and not is_a(column, "numpy", "ndarray"):
        return False
    if not FEWEST_ROWS <= len(frame.index) <= MOST_ROWS:
        return False
    state.columns += 1
    state.changed = True
    if is_series and len(column.index) == len(frame.index):
        _compare(frame.index, column.index)
    return False


def _compare(rows: Any, values: Any) -> None:
    """One of them counts from 0, and the other has gaps: what was numbered again cannot be aligned
    with what was not."""
    frame_has_gaps, column_has_gaps = _has_gaps(rows), _has_gaps(values)
    if not (frame_has_gaps and _counts(values)) and not (column_has_gaps and _counts(rows)):
        return
    stack = own_stack(3)
    if not stack:
        return
    length = len(rows)
    labels = (rows if frame_has_gaps else values).to_numpy()
    shared = labels < length
    apart = labels != range(length)
    state.aligned.append(
        AlignedColumn(
            stack=stack,
            rows=length,
            moved=int((shared & apart).sum()),
            lost=length - int(shared.sum()),
            frame_has_gaps=frame_has_gaps,
        )
    )


def _counts(index: Any) -> bool:
    """0, 1, 2 and so on."""
    return is_a(index, "pandas", "RangeIndex") and index.start == 0 and index.step == 1


def _has_gaps(index: Any) -> bool:
    """Integers from 0 on, in any order, some of which were left out."""
    if is_a(index, "pandas", "RangeIndex") or getattr(index.dtype, "kind", "O") not in "iu":
        return False
    if not index.is_unique:
        return False
    first, last = int(index.min()), int(index.max())
    return first >= 0 and last - first >= len(index)


@finishing.at_end
@periodic.every_few_seconds
@guarded("columns of data frames")
def write() -> None:
    if not state.changed or not noted.steps:
        return
    state.changed = False
    spool.saw(
        ColumnRows(process=spool.process(), columns=state.columns, aligned=tuple(state.aligned))
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
