"""Batches of loaders cut to their first rows: in the child of a check, and nowhere else.

Whatever draws the numbers of a batch's rows still draws them all, so that random streams, the
order of rows and the count of batches are as they were. Only then is the list cut, before the
dataset is asked for the rows.
"""

from functools import wraps
from types import ModuleType
from typing import Any

from surefit.doctor.observations import Shrunk
from surefit.observe.inside import epochs, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes

ROWS = "SUREFIT_ROWS"
"""Environment: how many rows of a batch are kept; without it all are."""
MOST_NOTED = 100
TAKES_WHAT_COMES = (
    ("torch.utils.data.sampler", "BatchSampler"),
    ("accelerate.data_loader", "BatchSamplerShard"),
    ("accelerate.data_loader", "SkipBatchSampler"),
)
"""Classes that make batches of nothing but the numbers that come next; another class, also one
derived from these, can put rows together that belong together."""

_noted: set[Shrunk] = set()


def install() -> None:
    if spool.number(ROWS):
        after_import(epochs.LOADER)(loaders)


def loaders(module: ModuleType) -> None:
    """The same function for loaders with and without workers, and for those of `accelerate`."""
    kind = module._BaseDataLoaderIter
    plain = kind._next_index

    @wraps(plain)
    def _next_index(self: Any) -> Any:
        return shortened(self, plain(self), spool.number(ROWS) or 0)

    kind._next_index = _next_index


def shortened(rows: Any, drawn: Any, most: int) -> Any:
    """The numbers of a batch's first rows, in a list of its own: a sampler can look at its batch
    again. Whatever is no list of numbers of rows is given back as it is."""
    try:
        held = attributes(rows)
        size = len(drawn) if type(drawn) is list else None
        if size is not None and size <= most:
            return drawn
        why_not = _left_alone(held, size)
        _note(held.get("_index_sampler"), size, size if why_not else most, why_not)
        return drawn if why_not else drawn[:most]
    except Exception as error:  # noqa: BLE001 - the script goes on with its own batch
        spool.could_not("batches of fewer rows", error)
        return drawn


def rows_of_a_batch(held: dict[str, Any], size: int) -> int:
    """Of a loader whose sampler makes batches of this size."""
    most = spool.number(ROWS) or size
    return min(size, most) if not _left_alone(held, size) else size


def _left_alone(held: dict[str, Any], size: int | None) -> str:
    """Why the batches of this loader are not cut; empty where they are."""
    _, world = spool.rank()
    if world is not None and world > 1:
        return f"this is one of {world} ranks"
    if held.get("_dataset_kind") == epochs.ITERABLE:
        return "its dataset is a stream (`IterableDataset`)"
    if held.get("_auto_collation") is not True:
        return "the dataset makes the batches (`batch_size=None`)"
    sampler = held.get("_index_sampler")
    while sampler is not None:
        kind = type(sampler)
        if (kind.__module__, kind.__name__) not in TAKES_WHAT_COMES:
            return f"`{kind.__name__}` chooses which rows make a batch"
        sampler = attributes(sampler).get("batch_sampler")
    return "" if size is not None else "what is drawn for a batch is no list"


def _note(sampler: Any, size: int | None, kept: int | None, why_not: str) -> None:
    if len(_noted) >= MOST_NOTED:
        return
    found = Shrunk(spool.process(), epochs.made_at(sampler), size, kept, why_not)
    if found not in _noted:
        _noted.add(found)
        spool.saw(found)
