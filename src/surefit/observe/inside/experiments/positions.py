"""Padding does not matter, and the future is not visible: experiments along the axis of positions,
on a single row that stands in the batch twice."""

from dataclasses import dataclass, replace
from typing import Any

from surefit.doctor.measures.experiments import OperationSeen, TriedChange
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.experiments import apart, batches, recorded_pass, trees
from surefit.observe.inside.experiments.apart import InputChange, Others, Shorter
from surefit.observe.inside.experiments.batches import Batch
from surefit.observe.inside.experiments.live import Live, Tree
from surefit.observe.inside.experiments.operations import TooLargeError, first_mixing
from surefit.observe.inside.experiments.rows import CHANGED
from surefit.observe.inside.experiments.trees import Path
from surefit.observe.inside.training import readable

FEWEST = 4
"""Positions of a row that can be told from each other."""
MASKS = ("mask", "pad")
LENGTHS = ("len",)
ATTENDS = ("softmax", "attention", "transformer")


@dataclass(frozen=True, slots=True)
class PaddedRow:
    """A row with padding at its end."""

    row: int
    length: int
    positions: int
    path: Path
    """The input that is padded."""
    known_by: str
    """`attention_mask`, `lengths`; `padding_idx` where only the padding token tells."""
    masked: bool
    """The model is told of it."""
    longest: int
    """A row that has more positions."""


def future(live: Live, batch: Batch, path: Path) -> TriedChange:
    """The later half of a row is changed; outputs of the earlier half must not change."""
    given = trees.tensors(batch.tree).get(path)
    rows = batch.axes.get(path)
    if given is None or rows not in (0, 1) or given.dim() < 2:
        return TriedChange(why_not="the input that the loss compares with was not found")
    axis = 1 - rows
    size = int(given.shape[axis])
    if size < FEWEST:
        return TriedChange(why_not=f"rows have {size} positions")
    if not given.is_floating_point() and padded_first(given if axis else given.t()):
        return TriedChange(why_not="rows are padded at their beginning")
    tree = batch.taken([0, 0])
    fixed = tuple(range(size // 2))

    def later(at: Path, value: Any) -> Any:
        return with_others(value, axis, len(fixed)) if at == path else value

    after: Tree = trees.changed(tree, later)
    found = tried(live, tree, after, Others(size, fixed), size)
    name = batches.names(live.module, batch.tree).get(path, "")
    return replace(found, on=f"{size - len(fixed)} of {size} positions", argument=name)


def padded_first(ids: Any) -> bool:
    """The first row begins with the same token twice: positions of padding may see anything."""
    return ids.dim() == 2 and bool(ids[0, 0] == ids[0, 1])


def with_others(tensor: Any, axis: int, begin: int) -> Any:
    """From `begin` on every value is another that the tensor has."""
    torch = readable.torch()
    after = tensor.clone()
    part = after.narrow(axis, begin, after.shape[axis] - begin)
    if tensor.is_floating_point():
        part.copy_(part.flip(axis) * 0.5 + tensor.float().std().to(part.dtype) + 0.1)
        return after
    kinds = torch.unique(tensor)
    at = torch.searchsorted(kinds, part.contiguous())
    part.copy_(kinds[(at + 1) % len(kinds)])
    return after


def tried(live: Live, before: Tree, after: Tree, probe: InputChange, size: int) -> TriedChange:
    outputs, others = live.run(before), live.run(after)
    if not all(apart.same(outputs[path], again) for path, again in live.run(before).items()):
        return TriedChange(why_not="the same input does not give the same output")
    found = TriedChange(size=size)
    judged = 0
    worst: TriedChange | None = None
    for path, tensor in outputs.items():
        change = changed_positions(tensor, others.get(path), probe)
        judged += change is not None
        if change is not None and change > CHANGED and (worst is None or change > worst.changed):
            shape = tuple(map(int, tensor.shape))
            worst = replace(found, changed=min(change, 1e9), output=shape)
    if worst is None:
        why = "" if judged else "no output has an axis of positions"
        return replace(found, judged=judged, why_not=why)
    try:
        operation = first_mixing(live, before, after, probe)
    except TooLargeError:
        operation = None
    return replace(worst, judged=judged, operation=operation)


def changed_positions(before: Any, after: Any, probe: InputChange) -> float | None:
    """How much changes that must not; None where the output has no axis of positions."""
    if after is None or not before.is_floating_point():
        return None
    if isinstance(probe, Shorter):
        axes = probe.axes(before, after)
        is_row = before.dim() > 0 and before.shape[0] == 2 and len(axes or ()) <= 1
        return probe.difference(before, after, axes) if axes is not None and is_row else None
    assert isinstance(probe, Others)
    if before.shape != after.shape:
        return None
    if probe.size not in before.shape:
        of_rows = probe.padding and before.dim() > 0 and before.shape[0] == 2
        return apart.difference(before, after) if of_rows else None
    if apart.kept(probe, before, after).state != apart.MIXED:
        return 0.0
    axis = list(before.shape).index(probe.size)
    begin = len(probe.fixed)
    return apart.difference(before.narrow(axis, 0, begin), after.narrow(axis, 0, begin))


def padding(live: Live, batch: Batch) -> TriedChange:
    """The row with most padding, with less of it: what it has besides must give the same."""
    padded = padded_row(live, batch)
    if padded is None:
        return TriedChange(why_not="no row with padding at its end was seen")
    tree = batch.taken([padded.row, padded.row])
    less = padded.length
    after = shortened(tree, batch, padded, less)
    probe = Shorter(padded.positions, less, tuple(range(padded.length)))
    found = tried(live, tree, after, probe, padded.positions)
    if padded.masked and not found.changed:
        found = other_tokens(live, tree, padded, found)
    if padded.masked and not found.changed:
        found = read_beside_a_longer_row(live, batch, padded, found)
        if found.changed:
            return replace(found, hidden=True, beside=True, argument=padded.known_by)
    hidden = found.changed > 0 and (
        sees_nothing(live, tree, padded)
        or (attends(found.operation) and last_is_not_seen(live, tree, after, padded))
    )
    on = f"a row of {padded.length} of {padded.positions} positions"
    return replace(found, on=on, hidden=hidden, argument=padded.known_by if padded.masked else "")


def read_beside_a_longer_row(
    live: Live, batch: Batch, padded: PaddedRow, found: TriedChange
) -> TriedChange:
    """Packed rows are filled up with zeros again when they are unpacked, up to the longest of them:
    the row is given once beside itself and once beside a longer one."""
    tree = batch.taken([padded.row, padded.longest])
    alone, beside = live.run(batch.taken([padded.row, padded.row])), live.run(tree)
    for path, before in alone.items():
        after = beside.get(path)
        if after is None or before.shape != after.shape or before.dim() != 2 or len(before) != 2:
            continue
        change = apart.difference(before[0], after[0])
        operation = recorded_pass.pick_of_zeros(live, tree) if change > CHANGED else None
        if operation is not None:
            on = f"a row of {padded.length} positions beside one of {padded.positions}"
            shape = tuple(map(int, after.shape))
            change = min(change, 1e9)
            return replace(found, on=on, changed=change, output=shape, operation=operation)
    return found


def other_tokens(live: Live, tree: Tree, padded: PaddedRow, found: TriedChange) -> TriedChange:
    """Other tokens in place of padding, which a mask hides: several paddings can look like one."""

    def filled(path: Path, value: Any) -> Any:
        return with_others(value, 1, padded.length) if path == padded.path else value

    probe = Others(padded.positions, tuple(range(padded.length)), padding=True)
    other = tried(live, tree, trees.changed(tree, filled), probe, padded.positions)
    return other if other.changed and other.operation is not None else found


def shortened(tree: Tree, batch: Batch, padded: PaddedRow, less: int) -> Tree:
    def cut(path: Path, value: Any) -> Any:
        if not is_tensor(value):
            return value
        for axis in range(value.dim()):
            if axis != batch.axes.get(path) and value.shape[axis] == padded.positions:
                value = value.narrow(axis, 0, less)
        return value

    after: Tree = trees.changed(tree, cut)
    return after


def sees_nothing(live: Live, tree: Tree, padded: PaddedRow) -> bool:
    """A change of the first position changes nothing at the others: the model sees padding and not
    what stands before it."""

    def first(path: Path, value: Any) -> Any:
        return flipped_first(value) if path == padded.path else value

    before, after = live.run(tree), live.run(trees.changed(tree, first))
    seen = [
        others_change(before[path], after[path], padded)
        for path in before
        if path in after and before[path].is_floating_point()
    ]
    judged = [change for change in seen if change is not None]
    return bool(judged) and not any(judged)


def attends(operation: OperationSeen | None) -> bool:
    return operation is not None and any(word in operation.name for word in ATTENDS)


def last_is_not_seen(live: Live, tree: Tree, shorter: Tree, padded: PaddedRow) -> bool:
    """The same of a vector for each row, which is read from the first position, as of a class
    token: a change of the last real position changes nothing."""

    def last(path: Path, value: Any) -> Any:
        if path != padded.path:
            return value
        changed = with_others(value, 1, padded.length - 1)
        changed[:, padded.length :] = value[:, padded.length :]
        return changed

    before, after = live.run(tree), live.run(trees.changed(tree, last))
    pooled = [
        path
        for path, short in live.run(shorter).items()
        if short.is_floating_point() and short.dim() == 2 and short.shape == before[path].shape
    ]
    return bool(pooled) and all(apart.same(before[path], after[path]) for path in pooled)


def flipped_first(tensor: Any) -> Any:
    changed = with_others(tensor.flip(1), 1, tensor.shape[1] - 1)
    return changed.flip(1)


def others_change(before: Any, after: Any, padded: PaddedRow) -> bool | None:
    if before.dim() < 2 or before.shape != after.shape or before.shape[0] != 2:
        return None
    if before.shape[1] != padded.positions:
        return not apart.same(before, after)
    part = slice(1, padded.length)
    return not apart.same(before[:, part], after[:, part])


def padded_row(live: Live, batch: Batch) -> PaddedRow | None:
    """Rows are padded at their end with one token, or with zeros; a mask, lengths or the padding
    token of the model say so, too."""
    names = batches.names(live.module, batch.tree)
    given = {
        path: value
        for path, value in trees.tensors(batch.tree).items()
        if batch.axes.get(path) == 0 and value.dim() >= 2
    }
    for path, value in given.items():
        is_mask = any(word in names[path] for word in MASKS)
        if is_mask or value.dtype == readable.torch().bool or "label" in names[path]:
            continue
        by_token = token_lengths(live, value)
        told = told_lengths(batch, names, int(value.shape[1]), path, by_token)
        for known_by, lengths in (
            *told.items(),
            *([("padding_idx", by_token)] if by_token else []),
        ):
            row = shortest(value, lengths)
            if row is not None:
                return PaddedRow(
                    row=row,
                    length=lengths[row],
                    positions=int(value.shape[1]),
                    path=path,
                    known_by=known_by,
                    masked=known_by in told,
                    longest=max(range(len(lengths)), key=lengths.__getitem__),
                )
    return None


def told_lengths(
    batch: Batch,
    names: dict[Path, str],
    positions: int,
    padded: Path,
    by_token: list[int] | None,
) -> dict[str, list[int]]:
    """What masks and lengths among the inputs say; lengths are known by their name, or because they
    are those that the padding token gives."""
    found: dict[str, list[int]] = {}
    for path, value in trees.leaves(batch.tree):
        name = names.get(path, "")
        if path == padded or not is_tensor(value) or batch.axes.get(path) != 0:
            continue
        if any(word in name for word in MASKS) and tuple(value.shape[1:]) == (positions,):
            lengths = prefix_lengths(value != 0) or prefix_lengths(value == 0)
            if lengths:
                found[name] = lengths
        elif value.dim() == 1:
            lengths = [int(length) for length in value.tolist()]
            if any(word in name for word in LENGTHS):
                if max(lengths) <= positions and min(lengths) > 0:
                    found[name] = lengths
            elif lengths == by_token and len(set(lengths)) > 1:
                found[name] = lengths
    return found


def prefix_lengths(real: Any) -> list[int] | None:
    """Of rows that are real up to some position; None where they are not so."""
    lengths = real.sum(1)
    positions = readable.torch().arange(real.shape[1])
    if int(lengths.min()) < 1 or not bool((real == (positions[None] < lengths[:, None])).all()):
        return None
    return [int(length) for length in lengths.tolist()]


def token_lengths(live: Live, ids: Any) -> list[int] | None:
    if ids.dim() != 2 or ids.is_floating_point():
        return None
    tokens = {
        int(part.padding_idx)
        for part in live.module.modules()
        if type(part).__name__ == "Embedding" and part.padding_idx is not None
    }
    config = getattr(live.module, "config", None)
    token = getattr(config, "pad_token_id", None)
    tokens = {token} if type(token) is int else tokens
    return prefix_lengths(ids != tokens.pop()) if len(tokens) == 1 else None


def shortest(value: Any, lengths: list[int]) -> int | None:
    """The row with most padding, if padding is the same everywhere."""
    row = min(range(len(lengths)), key=lengths.__getitem__)
    if not 2 <= lengths[row] < value.shape[1]:
        return None
    fill = value[row, -1]
    every = [value[at, length:] for at, length in enumerate(lengths) if length < value.shape[1]]
    return row if all(bool((part == fill).all()) for part in every) else None
