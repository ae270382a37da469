"""What a loader over a dataset of the script gives to its loop."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import memory
from surefit.evidence.imagined.classes import find_in_class
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.shapes import Shape, Size, Some
from surefit.evidence.imagined.values import (
    ABSENT,
    UNKNOWN,
    Bound,
    Function,
    Instance,
    Known,
    Listed,
    Loader,
    Made,
    Mapped,
    Tensor,
    Whole,
    listed,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run


def batch_of(run: "Run", loader: Loader) -> Any:
    """One batch; its number of rows is not known, and the same in all its tensors."""
    run.sizes += 1
    rows = Some(run.sizes)
    row = row_of(run, loader.dataset)
    if loader.collate is None:
        return stacked(row, rows)
    if isinstance(loader.collate, Function | Bound | Instance):
        return run.call(loader.collate, Given([listed("list", None)]), loader.node)
    return UNKNOWN


def row_of(run: "Run", dataset: Any) -> Any:
    """What a dataset gives for one number."""
    match dataset:
        case Made(name="torch.utils.data.TensorDataset"):
            from surefit.evidence.imagined.operators import row_of as first_row

            parts = [
                first_row(run, one) if isinstance(one, Tensor) else UNKNOWN
                for one in dataset.given["of"]
            ]
            return listed("tuple", parts)
        case Made(name="torch.utils.data.Subset"):
            return row_of(run, dataset.given["of"][0])
        case Instance(of=one) if dataset.escaped["escaped"] is False:
            function = find_in_class(one, "__getitem__")
            if isinstance(function, Function) and find_in_class(one, "__getitems__") is ABSENT:
                return run.call_function(function, Given([Whole()]), loader_node(run), dataset)
        case Listed(state={"items": tuple(items)}) if items:
            return items[0] if all(type(one) is type(items[0]) for one in items) else UNKNOWN
    return UNKNOWN


def loader_node(run: "Run") -> Any:
    return run.source.tree


def stacked(row: Any, rows: Size) -> Any:
    """As the default collator does it."""
    match row:
        case Tensor():
            shape = row.shape if row.shape.more else Shape((rows, *row.shape.sizes))
            state = {"version": 0, "device": row.state.get("device")}
            steps = memory.in_order(shape)
            return replace(row, shape=shape, leaf=False, strides=steps, cause=None, state=state)
        case Known(value=bool()):
            return UNKNOWN
        case Known(value=int()) | Whole():
            return plain(rows, "int64")
        case Known(value=float()):
            return plain(rows, "float64")
        case Listed(state={"items": tuple(items)}):
            return listed("list", [stacked(one, rows) for one in items])
        case Mapped(state={"items": dict(entries)}):
            return Mapped({"items": {key: stacked(one, rows) for key, one in entries.items()}})
    return UNKNOWN


def plain(rows: Size, dtype: str) -> Tensor:
    state: dict[str, Any] = {"version": 0, "device": "cpu"}
    return Tensor(Shape((rows,)), dtype, graph=False, state=state)
