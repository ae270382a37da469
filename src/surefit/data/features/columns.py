"""Columns of numbers in Arrow and Parquet files: a row is a list, a list of lists, or a tensor."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefit.doctor.findings import Finding
from surefit.errors import BadInput

from .faults import choose, no_numbers


@dataclass(frozen=True, slots=True)
class Column:
    """What a schema says about one column."""

    name: str
    shape: tuple[int, ...] | None
    """Of one row; None where the schema leaves lengths open."""

    depth: int
    """How many lists are within each other."""

    value_type: Any


def choose_column(schema: Any, name: str) -> Column:
    """The only column of lists; refuses columns of other things, and several."""
    columns = {one.name: _column(one.name, one.type) for one in schema}
    lists = {key: one for key, one in columns.items() if one.depth}
    axes = {key: (0,) * (1 + one.depth) for key, one in columns.items()}
    chosen = choose(name, "column", {key: axes[key] for key in lists} or axes)
    if isinstance(chosen, Finding):
        raise BadInput(chosen)
    return columns[chosen]


def numpy_dtype(column: Column, name: str) -> np.dtype:
    import pyarrow as pa

    kind = column.value_type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not numbers and not pa.types.is_boolean(kind):
        fix = "Store each row as a list of numbers of the same length."
        raise BadInput(no_numbers(f"{name}, column {column.name}", str(kind), fix))
    dtype: np.dtype = np.dtype(kind.to_pandas_dtype())
    return dtype


def _column(name: str, kind: Any) -> Column:
    import pyarrow as pa

    shape: tuple[int, ...] | None = ()
    tensor = _tensor_shape(kind)
    if tensor:
        return Column(name, tensor, 1, kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    depth = 0
    while _is_list(kind):
        fixed = pa.types.is_fixed_size_list(kind)
        shape = (*shape, kind.list_size) if fixed and shape is not None else None
        kind, depth = kind.value_type, depth + 1
    return Column(name, shape, depth, kind)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    is_a = pa.types
    return bool(is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind))


def _tensor_shape(kind: Any) -> tuple[int, ...] | None:
    """Of Arrow's own type for tensors of one shape."""
    import pyarrow as pa

    if not isinstance(kind, pa.FixedShapeTensorType):
        return None
    order = kind.permutation
    plain = order is None or list(order) == list(range(len(kind.shape)))
    return tuple(kind.shape) if plain else None


def flat(array: Any) -> Any:
    """The values of a column's array, lists within each other undone; None if some are absent."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    while _is_list(array.type):
        if array.null_count:
            return None
        array = array.flatten()
    return None if array.null_count else array


def lengths(array: Any) -> tuple[set[int], ...]:
    """For each list within the other, the lengths that occur."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    found = []
    while _is_list(array.type):
        found.append(set(pc.unique(pc.list_value_length(array)).to_pylist()) - {None})
        array = array.flatten()
    return tuple(found)
