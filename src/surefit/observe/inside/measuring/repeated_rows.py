"""Rows of evaluation from one epoch to the next: the first batch of each way through a loader."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.repeated_rows import LoaderPasses, RepeatedRows
from surefit.observe.inside import epochs, events, finishing, spool
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import periodic, readable

MOST_LOADERS = 8
MOST_PASSES = 6
"""Of a loader."""
MOST_ROWS = 16
MOST_INDICES = 4096
DEEPEST = 4
"""Datasets inside each other, as subsets are."""
TRANSFORMS = ("transform", "transforms", "augment", "augmentation", "tf")


@dataclass(slots=True)
class LoaderState:
    """A loader whose rows come in the order of the dataset, without gradients."""

    place: Place | None
    dataset: Any
    kind: str
    transforms: frozenset[int]
    indices: frozenset[int]
    labels: int = 0
    inputs: int = 0
    rows: int = 0
    passes: int = 0
    changed: int = 0


class PassState:
    """Of this process."""

    def __init__(self) -> None:
        self.iterator: Callable[[], Any] = lambda: None
        """The last one: by a reference, since the next often has its address."""
        self.loaders: dict[int, LoaderState] = {}
        self.trained: dict[int, frozenset[int]] = {}
        """Datasets of loaders that are read with gradients on, with the indices of their part; no
        index for a dataset that is read as a whole."""
        self.transforms: set[int] = set()
        """What these transform their rows with."""
        self.written = 0


state = PassState()


@events.on(events.batch_came)
def came(iterator: Any, batch: Any) -> None:
    if batch is None or state.iterator() is iterator or not readable.can_look():
        return
    state.iterator = weakref.ref(iterator)
    held = attributes(iterator)
    dataset = _innermost(held.get("_dataset"))
    if dataset is None:
        return
    if readable.torch().is_grad_enabled():
        if len(state.trained) < MOST_LOADERS:
            state.trained[identity(dataset)] = _indices(held.get("_dataset"))
            state.transforms |= _transforms(dataset)
        return
    sampler = held.get("_index_sampler")
    if type(attributes(sampler).get("sampler")).__name__ != "SequentialSampler":
        return
    key = identity(sampler)
    known = state.loaders.get(key)
    if known is None:
        if len(state.loaders) >= MOST_LOADERS:
            return
        known = state.loaders[key] = LoaderState(
            epochs.made_at(sampler),
            identity(dataset),
            type(dataset).__name__,
            _transforms(dataset),
            _indices(held.get("_dataset")),
        )
    if known.passes <= MOST_PASSES:
        with readable.looking():
            _compare(known, batch)


def _innermost(dataset: Any) -> Any:
    for _ in range(DEEPEST):
        inside = attributes(dataset).get("dataset")
        if inside is None:
            break
        dataset = inside
    return dataset


def _indices(part: Any) -> frozenset[int]:
    """Of a subset, the first ones."""
    indices: Any = attributes(part).get("indices")
    if type(indices) not in (list, tuple, range):
        return frozenset()
    return frozenset(indices[:MOST_INDICES])


def _transforms(dataset: Any) -> frozenset[int]:
    held = attributes(dataset)
    return frozenset(identity(held[name]) for name in TRANSFORMS if held.get(name) is not None)


def _compare(known: LoaderState, batch: Any) -> None:
    tensors = [
        tensor
        for tensor in trees.tensors(batch).values()
        if trees.is_plain(tensor) and tensor.is_cpu and tensor.dim()
    ]
    labels = [tensor for tensor in tensors if not tensor.is_floating_point() and tensor.dim() == 1]
    inputs = [tensor for tensor in tensors if tensor.is_floating_point() and tensor.dim() >= 2]
    if not labels or not inputs or len(set(labels[0].tolist())) < 2:
        return
    names = hash(tuple(labels[0].tolist()))
    numbers = hash(inputs[0][:MOST_ROWS].contiguous().numpy().tobytes())
    if known.labels == names and known.inputs:
        known.passes += 1
        known.changed += numbers != known.inputs
    known.labels, known.inputs, known.rows = names, numbers, int(labels[0].shape[0])


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("rows of evaluation")
def write() -> None:
    every = [known for known in state.loaders.values() if known.passes]
    passes = sum(known.passes for known in every)
    if passes == state.written:
        return
    state.written = passes
    loaders = tuple(
        LoaderPasses(
            place=known.place,
            passes=known.passes,
            changed=known.changed,
            rows=known.rows,
            dataset=known.kind,
            shared=_shared(known),
        )
        for known in every
    )
    spool.saw(RepeatedRows(process=spool.process(), loaders=loaders))


def _shared(known: LoaderState) -> str:
    if known.dataset in state.trained:
        trained = state.trained[known.dataset]
        apart = trained and known.indices and not trained & known.indices
        return "dataset" if apart else ""
    return "transform" if known.transforms & state.transforms else ""


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
