"""Tables among the variables of the user's frames, also those that datasets and loaders hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.frame_tables import (
    MOST_ELEMENTS,
    is_pandas,
    own_frames,
    tensor_of,
    variables_of,
)

DATASETS = "torch.utils.data.dataset"
LOADERS = "torch.utils.data.dataloader"
MOST_TABLES = 48
MOST_MEMBERS = 8
DEEPEST = 4


@dataclass(slots=True)
class HeldTable:
    """Rows of numbers, or a series."""

    name: str
    numbers: Any
    """A tensor [rows, columns], or [steps] of a series."""
    wide: bool = False
    """A data frame, which can have columns that are no inputs."""

    @property
    def rows(self) -> int:
        return int(self.numbers.shape[0])


def tables_of_frames(depth: int) -> list[HeldTable]:
    found: list[HeldTable] = []
    known: set[int] = set()
    for frame in own_frames(depth):
        for name, value in variables_of(frame).items():
            for table in _tables(name, value, DEEPEST, known):
                found.append(table)
                if len(found) >= MOST_TABLES:
                    return found
    return found


def _tables(name: str, value: Any, deeper: int, known: set[int]) -> Iterator[HeldTable]:
    if id(value) in known or deeper <= 0:
        return
    if is_tensor(value) or is_a(value, "numpy", "ndarray") or is_pandas(value, "Series"):
        known.add(id(value))
        yield from _plain(name, value)
    elif is_pandas(value, "DataFrame"):
        known.add(id(value))
        yield from _of_frame(name, value)
    elif is_a(value, LOADERS, "DataLoader"):
        yield from _tables(name, attributes(value).get("dataset"), deeper - 1, known)
    elif is_a(value, DATASETS, "Subset"):
        known.add(id(value))
        yield from _of_subset(name, attributes(value), deeper, known)
    elif is_a(value, DATASETS, "Dataset"):
        known.add(id(value))
        for member in list(attributes(value).values())[:MOST_MEMBERS]:
            yield from _tables(name, member, deeper - 1, known)
    elif type(value) in (list, tuple, dict) and len(value) <= MOST_MEMBERS:
        members = value.values() if type(value) is dict else value
        for member in list(members):
            yield from _tables(name, member, deeper - 1, known)


def _plain(name: str, value: Any) -> Iterator[HeldTable]:
    shape = tuple(int(size) for size in value.shape)
    elements = 1
    for size in shape:
        elements *= size
    if len(shape) in (1, 2) and 1 < elements <= MOST_ELEMENTS and shape[0] > 1:
        tensor = tensor_of(value)
        if tensor is not None and tensor.dtype.is_floating_point:
            yield HeldTable(name, tensor)


def _of_frame(name: str, value: Any) -> Iterator[HeldTable]:
    numeric = [at for at, kind in enumerate(value.dtypes) if getattr(kind, "kind", "O") == "f"]
    if len(value) > 1 and numeric and len(value) * len(numeric) <= MOST_ELEMENTS:
        tensor = tensor_of(value.iloc[:, numeric])
        if tensor is not None:
            yield HeldTable(name, tensor, wide=True)


def _of_subset(
    name: str, held: dict[str, Any], deeper: int, known: set[int]
) -> Iterator[HeldTable]:
    """Its rows, and all rows of the dataset that it is a part of."""
    numbers: Any
    numbers, dataset = held.get("indices"), held.get("dataset")
    if is_a(numbers, "numpy", "ndarray") or is_tensor(numbers):
        numbers = numbers.tolist()
    if type(numbers) not in (list, range, tuple) or not numbers:
        return
    chosen = readable.torch().tensor([int(number) for number in numbers])
    for whole in _tables(name, dataset, deeper - 1, set()):
        if int(chosen.max()) < whole.rows:
            yield HeldTable(name, whole.numbers[chosen], whole.wide)
    yield from _tables(f"{name}.dataset", dataset, deeper - 1, known)
