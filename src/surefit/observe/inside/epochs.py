"""Epochs of loaders: how many batches of how many rows have come of each, the newest last.

What goes through a loader's rows stands in no variable, and is gone when an exception has passed
its loop. Numbers are kept of it, and no reference.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import events, origins
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

LOADER = "torch.utils.data.dataloader"
MOST_KEPT = 8
ITERABLE = 1
"""Kind of a dataset that is a stream."""


@dataclass(slots=True)
class Epoch:
    """One way through the rows of a loader."""

    place: Place | None
    size: int | None
    rows: int | None
    workers: int | None
    streams: bool
    shuffles: bool
    drops: bool
    yielded: int = 0
    ended: bool = False


_epochs: dict[int, Epoch] = {}


def newest_first() -> list[Epoch]:
    """By when a batch came of them last."""
    return list(_epochs.values())[::-1]


@after_import(LOADER)
def loaders(module: ModuleType) -> None:
    kind = module._BaseDataLoaderIter
    kind.__next__ = around(kind.__next__, _comes, _came)


def _comes(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _came(args: tuple[Any, ...], batch: Any) -> None:
    """A batch, or the end, where there is none."""
    events.tell(events.batch_came, args[0], batch)
    held = attributes(args[0])
    yielded = _number(held, "_num_yielded") or 0
    epoch = _epochs.pop(id(args[0]), None)
    if epoch is None or yielded < 2:
        epoch = _begun(held)
    epoch.yielded, epoch.ended = yielded, batch is None
    _epochs[id(args[0])] = epoch
    if len(_epochs) > MOST_KEPT:
        del _epochs[next(iter(_epochs))]
    if batch is None and noted.events:
        periodic.write_early(time.time())


def _begun(held: dict[str, Any]) -> Epoch:
    sampler = held.get("_index_sampler")
    inside = [attributes(one) for one in _chain(sampler)]
    return Epoch(
        made_at(sampler),
        next((size for one in inside if (size := _number(one, "batch_size"))), None),
        rows_of(held.get("_dataset")),
        _number(held, "_num_workers"),
        held.get("_dataset_kind") == ITERABLE,
        any(is_a(one, "torch.utils.data.sampler", "RandomSampler") for one in _chain(sampler)),
        held.get("_drop_last") is True or any(one.get("drop_last") is True for one in inside),
    )


def _chain(sampler: Any) -> Iterator[Any]:
    """A sampler of batches, and those that it takes its numbers from."""
    for _ in range(4):
        if sampler is None:
            return
        yield sampler
        held = attributes(sampler)
        sampler = held.get("batch_sampler", held.get("sampler"))


def _number(held: dict[str, Any], name: str) -> int | None:
    value = held.get(name)
    return value if type(value) is int else None


def made_at(sampler: Any) -> Place | None:
    """Of what draws the batches, which a loader makes for itself: `accelerate` puts other loaders
    around it. Where a class of the user's draws them, of the loader."""
    for one in _chain(sampler):
        place = origins.made_at(one)
        if place is not None:
            return place
    module = sys.modules.get(LOADER)
    every = origins.alive(vars(module)["DataLoader"]) if module is not None else iter(())
    made = (one for one in every if _draws_by(attributes(one)) is sampler)
    return next((origins.made_at(one) for one in made), None)


def _draws_by(loader: dict[str, Any]) -> Any:
    """What a loader asks for the next batch or, where it makes none of rows, for the next row."""
    batches = loader.get("batch_sampler")
    return loader.get("sampler") if batches is None else batches


def rows_of(dataset: Any) -> int | None:
    """Of the kinds of dataset whose length is no code of the user's."""
    if type(dataset) in (list, tuple):
        return len(dataset)
    held = attributes(dataset)
    if is_a(dataset, "torch.utils.data.dataset", "TensorDataset"):
        tensors = held.get("tensors")
        first: Any = tensors[0] if type(tensors) is tuple and tensors else None
        return int(first.shape[0]) if is_tensor(first) else None
    if is_a(dataset, "torch.utils.data.dataset", "Subset"):
        indices: Any = held.get("indices")
        return len(indices) if type(indices) in (list, range) else None
    return None
