"""A row of a dataset, collated beside other rows and elsewhere among them: in the fork."""

import copy
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from surefit.doctor.measures.collated_rows import CollatedRows, JoinedIndex
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.experiments.live import Live, Outputs, Tree
from surefit.observe.inside.experiments.trees import Path
from surefit.observe.inside.training import readable

SAMPLES = 5
TOGETHER = 3
CHANGED = 0.01
"""Over the largest value: rounding is below a thousandth of it."""
SAME = 1e-4
KNOWN = 0.1
"""Share of the numbers of a row, by chance."""

Tensors = dict[Path, Any]


class NotTriedError(Exception):
    """Why this cannot be tried, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What joins rows, and how a model is called with them."""

    collate: Callable[[list[Any]], Any]
    dataset: Any
    module: Any
    tree: Tree
    rows: int
    """Of the batch that the model was called with."""
    taken_from: dict[Path, Path]
    """Tensors of the call -> where they stand in the batch."""


def tried(joining: Joining, measure: CollatedRows) -> CollatedRows:
    samples = [joining.dataset[number] for number in range(SAMPLES)]
    first, others = samples[0], samples[1:]
    begun = joined(joining, [first, *others[:2]])
    if not _are_equal(trees.tensors(begun), trees.tensors(joined(joining, samples[:TOGETHER]))):
        raise NotTriedError("the collate function draws random numbers")
    ended = joined(joining, [*others[:2], first])
    elsewhere = joined(joining, [*others[2:], first])
    live = Live(joining.module)
    outputs = [live.run(_call(joining, batch)) for batch in (begun, ended, elsewhere)]
    if not _are_equal(outputs[0], live.run(_call(joining, begun))):
        raise NotTriedError("the same input gives another output")
    measure = replace(measure, samples=SAMPLES)
    moved = _change(outputs[0], outputs[1], first=True)
    company = _change(outputs[1], outputs[2], first=False)
    if moved is None and company is None:
        raise NotTriedError("no output has a row for each sample")
    (largest, shape) = max(filter(None, (moved, company)))
    measure = replace(
        measure,
        moved=moved[0] if moved is not None and moved[0] > CHANGED else 0.0,
        company=company[0] if company is not None and company[0] > CHANGED else 0.0,
        output=shape,
    )
    if largest <= CHANGED:
        return measure
    single = [trees.tensors(joined(joining, [sample])) for sample in samples]
    index = _index(joining, live, begun, single[:TOGETHER], outputs[0])
    if index is not None:
        return replace(measure, index=index)
    altered = _altered(joining, ended, elsewhere, single)
    return replace(
        measure, altered=altered, flattened=_flattened(joining, begun, single[:TOGETHER])
    )


def joined(joining: Joining, samples: list[Any]) -> Any:
    """Collate functions take what they join out of their samples, some of them."""
    readable.torch().rand(1)  # another state of each stream than in the call before
    random.random()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.random()
    return joining.collate(copy.deepcopy(samples))


def _call(joining: Joining, batch: Any) -> Tree:
    tensors = trees.tensors(batch)

    def change(path: Path, value: Any) -> Any:
        source = joining.taken_from.get(path)
        if source is None:
            return value
        if source not in tensors:
            raise NotTriedError("batches are not alike")
        return tensors[source].to(getattr(value, "dtype", None))

    args, kwargs = trees.changed(joining.tree, change)
    args = tuple(_count(joining, argument) for argument in args)
    kwargs = {name: _count(joining, argument) for name, argument in kwargs.items()}
    return args, kwargs


def _count(joining: Joining, argument: Any) -> Any:
    return TOGETHER if type(argument) is int and argument == joining.rows else argument


def _are_equal(before: Tensors, after: Tensors) -> bool:
    torch = readable.torch()
    return before.keys() == after.keys() and all(
        bool(torch.equal(tensor, after[path])) for path, tensor in before.items()
    )


def _change(
    before: Outputs, after: Outputs, *, first: bool
) -> tuple[float, tuple[int, ...]] | None:
    """Of the row that is first in the one (or last in both) and last in the other."""
    found: list[tuple[float, tuple[int, ...]]] = []
    for path, output in before.items():
        other = after.get(path)
        if other is None or not output.dim() or not output.dtype.is_floating_point:
            continue
        if output.shape[0] != TOGETHER or other.shape != output.shape:
            continue
        row, again = output[0 if first else -1].double(), other[-1].double()
        largest = float(output.double().abs().max())
        change = float((row - again).abs().max()) / largest if largest else 0.0
        if change == change:  # no NaN
            found.append((min(change, 1e9), tuple(map(int, output.shape))))
    return max(found) if found else None


def _index(
    joining: Joining, live: Live, batch: Any, single: list[Tensors], plain: Outputs
) -> JoinedIndex | None:
    """Of which the parts of the batch are the parts of its samples, unchanged."""
    tensors = trees.tensors(batch)
    alone = [live.run(_alone(joining, part)) for part in single]
    for source in dict.fromkeys(joining.taken_from.values()):
        index = tensors[source]
        if index.dtype.is_floating_point or not index.dim():
            continue
        for target, sizes in _joined_rows(tensors, single, source):
            parts = [part[source] for part in single]
            axis = _joined_along(index, parts)
            if axis is None or not _numbers(parts, sizes):
                continue
            starts = [sum(sizes[:number]) for number in range(len(sizes))]
            moved = [part + start for part, start in zip(parts, starts, strict=True)]
            offset = readable.torch().cat(moved, axis)
            mended = live.run(_with(joining, tensors, source, offset))
            mends = _as_alone(mended, alone) and not _as_alone(plain, alone)
            if mends:
                return JoinedIndex(index=_key(source), rows=_key(target), axis=axis, mends=mends)
    return None


def _alone(joining: Joining, tensors: Tensors) -> Tree:
    """The call with one row."""
    tree = trees.changed(
        joining.tree,
        lambda path, value: (
            tensors[joining.taken_from[path]].to(value.dtype)
            if path in joining.taken_from
            else value
        ),
    )
    args = tuple(1 if type(part) is int and part == joining.rows else part for part in tree[0])
    kwargs = {
        name: 1 if type(part) is int and part == joining.rows else part
        for name, part in tree[1].items()
    }
    return args, kwargs


def _joined_rows(
    tensors: Tensors, single: list[Tensors], index: Path
) -> list[tuple[Path, list[int]]]:
    """Other tensors of which several rows of each sample were joined, with their numbers."""
    found: list[tuple[Path, list[int]]] = []
    for path, tensor in tensors.items():
        if path == index or not tensor.dim() or any(path not in part for part in single):
            continue
        sizes = [int(part[path].shape[0]) if part[path].dim() else 0 for part in single]
        if min(sizes) > 1 and sum(sizes) == int(tensor.shape[0]):
            found.append((path, sizes))
    return sorted(found, key=lambda entry: not tensors[entry[0]].dtype.is_floating_point)


def _joined_along(index: Any, parts: list[Any]) -> int | None:
    torch = readable.torch()
    if any(part.dim() != index.dim() for part in parts):
        return None
    for axis in range(min(2, index.dim())):
        rest = [part.shape[:axis] + part.shape[axis + 1 :] for part in parts]
        if len(set(rest)) == 1 and torch.equal(torch.cat(parts, axis), index):
            return axis
    return None


def _numbers(parts: list[Any], sizes: list[int]) -> bool:
    """Of rows of the sample."""
    return all(
        bool(part.numel()) and int(part.min()) >= 0 and int(part.max()) < size
        for part, size in zip(parts, sizes, strict=True)
    )


def _with(joining: Joining, tensors: Tensors, source: Path, value: Any) -> Tree:
    def change(path: Path, old: Any) -> Any:
        taken = joining.taken_from.get(path)
        if taken is None:
            return old
        return (value if taken == source else tensors[taken]).to(old.dtype)

    args, kwargs = trees.changed(joining.tree, change)
    args = tuple(_count(joining, argument) for argument in args)
    return args, {name: _count(joining, argument) for name, argument in kwargs.items()}


def _as_alone(together: Outputs, alone: list[Outputs]) -> bool:
    torch = readable.torch()
    compared = 0
    for path, output in together.items():
        parts = [part.get(path) for part in alone]
        if not output.dim() or any(part is None or not part.dim() for part in parts):
            continue
        every = torch.cat(parts)
        if every.shape != output.shape or not output.dtype.is_floating_point:
            continue
        compared += 1
        largest = float(output.abs().max())
        if largest and float((every - output).abs().max()) > CHANGED * largest:
            return False
    return compared > 0


def _altered(joining: Joining, ended: Any, elsewhere: Any, single: list[Tensors]) -> str:
    """The row is another beside others, and what is new in it stands in no sample: a row that was
    moved, padded or taken as a partner brings nothing new."""
    torch = readable.torch()
    before, after = trees.tensors(ended), trees.tensors(elsewhere)
    for source in dict.fromkeys(joining.taken_from.values()):
        value, other = before[source], after.get(source)
        if other is None or value.shape != other.shape or value.shape[:1] != (TOGETHER,):
            continue
        if not value.dtype.is_floating_point:
            continue
        row, again = value[-1].flatten(), other[-1].flatten()
        apart = row[(row - again).abs() > SAME * value.abs().max()]
        known = torch.cat([part[source].flatten() for part in single if source in part])
        if apart.numel() and int(torch.isin(apart, known).sum()) < KNOWN * apart.numel():
            return _key(source)
    return ""


def _flattened(joining: Joining, batch: Any, single: list[Tensors]) -> str:
    """An input in which several rows of each sample lie end to end: nothing but its company in
    the batch can change what the model gives for a sample."""
    tensors = trees.tensors(batch)
    sources = list(dict.fromkeys(joining.taken_from.values()))
    ragged = (path for source in sources for path, _ in _joined_rows(tensors, single, source))
    return next((_key(path) for path in ragged if path in sources), "")


def _key(path: Path) -> str:
    return ".".join(map(str, path))
