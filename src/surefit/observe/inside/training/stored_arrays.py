"""Arrays and tensors that a dataset holds, row by row, read without code of its own."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor
from surefit.observe.inside.training import readable

DATASETS = "torch.utils.data.dataset"
DEEPEST = 4
MOST_ARRAYS = 8
MOST_INDICES = 16
MOST_ELEMENTS = 1_000_000
"""Of an array that is looked at as a whole, and of a row."""

Path = tuple[str | int, ...]


@dataclass(slots=True)
class StoredArray:
    """An array that a dataset holds."""

    holder: Any
    path: Path
    """The attribute, then the keys that lead to it."""
    rows: list[int] | None
    """Numbers of the rows to look at; None: all of them."""
    row: int | None = None
    """The array is this row itself, as in a list of arrays."""


def arrays_of(dataset: Any, indices: list[int]) -> list[StoredArray]:
    """Those in which the rows with these numbers can be, the dataset's own and those of datasets
    that it wraps."""
    found: list[StoredArray] = []
    for holder, numbers in _holders(dataset, indices[:MOST_INDICES], DEEPEST):
        for array in _stored(holder, numbers):
            found.append(array)
            if len(found) >= MOST_ARRAYS * MOST_INDICES:
                return found
    return found


def tensor_at(holder: Any, path: Path) -> Any:
    """The array as a tensor that shares its memory; None where it is none, or cannot be written."""
    value: Any = attributes(holder).get(str(path[0]))
    for key in path[1:]:
        if type(value) in (list, tuple) and type(key) is int and key < len(value):
            value = value[key]
        elif type(value) is dict:
            value = value.get(key)
        else:
            return None
    return as_tensor(value)


def as_tensor(value: Any) -> Any:
    if is_tensor(value):
        plain = readable.plain(value)
        dense = plain is not None and plain.is_cpu and plain.layout is readable.torch().strided
        return plain.detach() if dense else None
    if not is_a(value, "numpy", "ndarray") or value.dtype.kind not in "iuf":
        return None
    if not value.flags["WRITEABLE"] or min(value.strides, default=0) < 0:
        return None
    try:
        return readable.torch().from_numpy(value)
    except (TypeError, ValueError):
        return None


def kind_at(holder: Any, path: Path) -> str:
    value: Any = attributes(holder).get(str(path[0]))
    for key in path[1:]:
        value = value[key]
    return "Tensor" if is_tensor(value) else "ndarray"


def _holders(dataset: Any, indices: list[int], deeper: int) -> Iterator[tuple[Any, list[int]]]:
    held = attributes(dataset)
    if is_a(dataset, DATASETS, "Subset"):
        numbers = held.get("indices")
        mapped = [_number(numbers, index) for index in indices]
        yield from _holders(
            held.get("dataset"), [at for at in mapped if at is not None], deeper - 1
        )
        return
    if is_a(dataset, DATASETS, "ConcatDataset"):
        yield from _parts(held, indices, deeper)
        return
    yield dataset, indices
    for value in list(held.values()) if deeper > 0 else ():
        if is_a(value, DATASETS, "Dataset"):
            yield from _holders(value, indices, deeper - 1)


def _parts(
    held: dict[str, Any], indices: list[int], deeper: int
) -> Iterator[tuple[Any, list[int]]]:
    ends, datasets = held.get("cumulative_sizes"), held.get("datasets")
    if type(ends) is not list or type(datasets) is not list or deeper <= 0:
        return
    for number, (dataset, end) in enumerate(zip(datasets, ends, strict=False)):
        start = ends[number - 1] if number else 0
        inside = [at - start for at in indices if bisect_right(ends, at) == number and at < end]
        if inside:
            yield from _holders(dataset, inside, deeper - 1)


def _number(numbers: Any, index: int) -> int | None:
    if type(numbers) in (list, tuple, range) or is_a(numbers, "numpy", "ndarray"):
        return int(numbers[index]) if index < len(numbers) else None
    return int(numbers[index]) if is_tensor(numbers) and index < numbers.shape[0] else None


def _stored(holder: Any, indices: list[int]) -> Iterator[StoredArray]:
    if not indices:
        return
    for name, value in list(attributes(holder).items())[: 4 * MOST_ARRAYS]:
        yield from _in_value(holder, (name,), value, indices)


def _in_value(holder: Any, path: Path, value: Any, indices: list[int]) -> Iterator[StoredArray]:
    if type(value) is dict or (type(value) in (list, tuple) and len(value) <= MOST_ARRAYS):
        members = value.items() if type(value) is dict else enumerate(value)
        for key, member in list(members)[:MOST_ARRAYS]:
            yield from _of_rows(holder, (*path, key), member, indices)
    elif type(value) in (list, tuple):
        for index in indices:
            if index < len(value):
                yield from _of_element(holder, (*path, index), value[index], index)
    else:
        yield from _of_rows(holder, path, value, indices)


def _of_rows(holder: Any, path: Path, value: Any, indices: list[int]) -> Iterator[StoredArray]:
    """Of an array whose first axis is that of the rows."""
    tensor = as_tensor(value)
    if tensor is None or tensor.dim() < 2 or tensor.shape[0] < 2:
        return
    if tensor.numel() <= MOST_ELEMENTS:
        yield StoredArray(holder, path, None)
    elif tensor[0].numel() <= MOST_ELEMENTS // MOST_INDICES:
        yield StoredArray(holder, path, [at for at in indices if at < tensor.shape[0]])


def _of_element(holder: Any, path: Path, value: Any, index: int) -> Iterator[StoredArray]:
    members = [(path, value)]
    if type(value) in (list, tuple):
        members = [((*path, at), member) for at, member in enumerate(value[:MOST_ARRAYS])]
    elif type(value) is dict:
        members = [((*path, key), member) for key, member in list(value.items())[:MOST_ARRAYS]]
    for inner, member in members:
        tensor = as_tensor(member)
        if tensor is not None and 2 <= tensor.numel() <= MOST_ELEMENTS // MOST_INDICES:
            yield StoredArray(holder, inner, None, row=index)
