"""What labels hold: which values, their sum, whether they are whole, rows with a single one."""

import gc
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor

MOST_VALUES = 64
MOST_ROWS = 1_000_000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """`rows`: how many columns a row has, where labels lie flat that were rows; `ignored`: a label
    that does not count."""
    value = value_in(frames, about)
    if not is_tensor(value) or not value.numel():
        return None
    flat = value.detach().reshape(-1)
    kept = flat[flat != about["ignored"]] if about.get("ignored") is not None else flat
    values, counts = kept.unique(return_counts=True)
    whole = bool((kept.double() == kept.double().round()).all())
    return {
        "elements": int(kept.numel()),
        "total": float(kept.double().sum()),
        "whole": whole,
        "different": int(values.numel()),
        "values": [float(one) for one in values[:MOST_VALUES]],
        "counts": [int(one) for one in counts[:MOST_VALUES]],
        **of_rows(value, about),
    }


def of_rows(value: Any, about: dict[str, Any]) -> dict[str, Any]:
    """How many ones a row along the axis of classes holds, and the sum of where the ones stand."""
    columns = about.get("rows")
    if columns:
        rows = value.detach().reshape(-1, int(columns))
    elif about.get("axis") is not None:
        rows = value.detach().movedim(int(about["axis"]), -1)
        rows = rows.reshape(-1, rows.shape[-1])
    else:
        return {}
    indicator = bool(((rows == 0) | (rows == 1)).all())
    ones = (rows != 0).sum(-1)
    return {
        "rows": int(rows.shape[0]),
        "indicator": indicator,
        "fewest_ones": int(ones.min()),
        "most_ones": int(ones.max()),
        "single": int((ones == 1).sum()),
        "places": float(rows.double().argmax(-1).double().sum()),
        **stored(int(rows.shape[-1])),
    }


def stored(columns: int) -> dict[str, int]:
    """The same of whole tables in datasets that are in memory: a batch can look so by chance."""
    every = [(table != 0).sum(-1) for table in tables() if is_indicator(table, columns)]
    rows = sum(int(ones.shape[0]) for ones in every)
    return {"stored": rows, "stored_single": sum(int((ones == 1).sum()) for ones in every)}


def is_indicator(table: Any, columns: int) -> bool:
    if tuple(table.shape[1:]) != (columns,) or int(table.shape[0]) > MOST_ROWS:
        return False
    kind = str(table.dtype)
    if "int" not in kind and "bool" not in kind:
        return False
    return bool(((table == 0) | (table == 1)).all())


def tables() -> Iterator[Any]:
    """Tensors and arrays that datasets have as attributes, or in a tuple there."""
    module = "torch.utils.data.dataset"
    kind = getattr(sys.modules.get(module), "Dataset", None)
    for one in gc.get_objects() if kind is not None else ():
        if is_a(one, module, "Dataset"):
            for inside in list(attributes(one).values()):
                for value in inside if type(inside) is tuple else (inside,):
                    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
                        yield value
