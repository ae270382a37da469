"""Rows of a batch do not influence each other: other rows are replaced, and rows are reversed."""

from dataclasses import dataclass, replace
from typing import Any

from surefit.doctor.measures.experiments import RowOutputs, TriedChange
from surefit.observe.inside.experiments import apart, recorded_pass, trees
from surefit.observe.inside.experiments.apart import InputChange, Others, Reversed
from surefit.observe.inside.experiments.batches import Batch, UnclearRowsError
from surefit.observe.inside.experiments.live import Live, Outputs, Tree
from surefit.observe.inside.experiments.operations import TooLargeError, first_mixing
from surefit.observe.inside.experiments.trees import Path

USUAL = (7, 5, 11, 3)
"""Rows that are taken of a batch: a number that divides no other size tells axes apart."""
FEW = (3, 5, 2)
CHANGED = 0.003
"""Of the largest value: less is rounding, or a scale that all rows share."""


@dataclass(frozen=True, slots=True)
class Base:
    """The model's outputs on some rows of the batch."""

    live: Live
    batch: Batch
    count: int
    tree: Tree
    outputs: Outputs
    random: bool
    """Another seed gives other outputs."""
    axes: dict[Path, tuple[int, ...]]
    """Of each output that grows with the number of rows."""


def base_of(live: Live, batch: Batch, slow: bool) -> Base | None:
    """None where the same input does not give the same output."""
    count = how_many(batch, slow)
    try:
        tree = batch.taken(list(range(count)))
        outputs = live.run(tree)
    except Exception:  # noqa: BLE001 - a model can be written for one size of batch
        count = batch.rows
        tree = batch.taken(list(range(count)))
        outputs = live.run(tree)
    if not all(bool(output.isfinite().any()) for output in outputs.values() if output.numel()):
        raise UnclearRowsError("outputs of the model are not finite")
    if not equal(outputs, live.run(tree)):
        return None
    live.seed = 1
    random = not equal(outputs, live.run(tree))
    live.seed = 0
    return Base(live, batch, count, tree, outputs, random, growing(live, batch, count, outputs))


def how_many(batch: Batch, slow: bool) -> int:
    wanted = FEW if slow else USUAL
    sizes = [size for size in batch.sizes() if size > 1]
    fewer = [count for count in wanted if count <= batch.rows]
    fitting = [
        count for count in wanted if count <= batch.rows and all(size % count for size in sizes)
    ]
    return (fitting or [*fewer, 2])[0]


def equal(first: Outputs, second: Outputs) -> bool:
    return first.keys() == second.keys() and all(
        apart.same(first[path], second[path]) for path in first
    )


def growing(live: Live, batch: Batch, count: int, outputs: Outputs) -> dict[Path, tuple[int, ...]]:
    """Axes of outputs that are shorter when there is a row less; where that cannot be tried, a
    first axis of as many rows."""
    try:
        fewer: Outputs = live.run(batch.taken(list(range(count - 1)))) if count > 2 else {}
    except Exception:  # noqa: BLE001 - see `base_of`
        fewer = {}
    found: dict[Path, tuple[int, ...]] = {}
    for path, tensor in outputs.items():
        other = fewer.get(path)
        if not tensor.is_floating_point():
            continue
        if other is None:
            if tensor.dim() and tensor.shape[0] == count and count not in tensor.shape[1:]:
                found[path] = (0,)
        elif other.dim() == tensor.dim():
            axes = [axis for axis in range(tensor.dim()) if shrinks(tensor, other, axis, count)]
            if axes:
                found[path] = tuple(axes)
    return found


def shrinks(tensor: Any, other: Any, axis: int, count: int) -> bool:
    size, less = int(tensor.shape[axis]), int(other.shape[axis])
    return size != less and size % count == 0 and less == size // count * (count - 1)


def compared(base: Base) -> RowOutputs:
    """Whether rows with different inputs have different outputs."""
    inputs = trees.tensors(base.tree).values()
    outputs = [base.outputs[path] for path, axes in base.axes.items() if 0 in axes]
    if not outputs or not any(recorded_pass.differ(tensor, base.count) for tensor in inputs):
        return RowOutputs()
    if not all(recorded_pass.are_equal(output, base.count) for output in outputs):
        return RowOutputs(rows=base.count)
    return RowOutputs(
        rows=base.count,
        equal=True,
        output=tuple(map(int, outputs[0].shape)),
        operation=recorded_pass.loses_rows(base.live, base.tree, base.count),
    )


def replaced(base: Base) -> TriedChange:
    """All rows but the last become copies of it."""
    last = base.count - 1
    after = base.batch.taken([last] * base.count)
    return tried(base, after, Others(base.count, (last,)))


def reversed_rows(base: Base) -> TriedChange:
    if base.random:
        return TriedChange(why_not="the model draws random numbers in evaluation mode")
    after = base.batch.taken(list(range(base.count))[::-1])
    return tried(base, after, Reversed(base.count))


def tried(base: Base, after: Tree, probe: InputChange) -> TriedChange:
    on = f"{base.count} of {base.batch.rows} rows"
    outputs = base.live.run(after)
    same_shapes = [
        path
        for path in base.axes
        if path in outputs and outputs[path].shape == base.outputs[path].shape
    ]
    found = TriedChange(on=on, size=base.count, judged=len(same_shapes))
    worst: TriedChange | None = None
    for path in same_shapes:
        change = least_change(base.outputs[path], outputs[path], base.axes[path], probe)
        if change > CHANGED and (worst is None or change > worst.changed):
            shape = tuple(map(int, outputs[path].shape))
            worst = replace(found, changed=min(change, 1e9), output=shape)
    if worst is None:
        return found
    try:
        return replace(worst, operation=first_mixing(base.live, base.tree, after, probe))
    except TooLargeError:
        return worst


def least_change(before: Any, after: Any, axes: tuple[int, ...], probe: InputChange) -> float:
    """In whichever way the output holds its rows."""
    state = apart.kept(probe, before, after)
    if state.state != apart.MIXED and (not state.axes or set(state.axes) & set(axes)):
        return 0.0
    if isinstance(probe, Others):
        return min(rest(before, after, axis, probe) for axis in axes)
    return apart.difference(before.flip(axes[0]), after) if axes else 0.0


def rest(before: Any, after: Any, axis: int, probe: Others) -> float:
    """How much the rows changed that must not."""
    times = before.shape[axis] // probe.size
    at = slice(probe.fixed[0] * times, (probe.fixed[0] + 1) * times)
    index = tuple([slice(None)] * axis + [at])
    return apart.difference(before[index], after[index])
