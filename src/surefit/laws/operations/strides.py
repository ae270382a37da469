"""The arithmetic of strides: which tensors `view` can reshape."""

from collections.abc import Sequence
from math import prod


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Of a contiguous tensor of this shape."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)


def inferred(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """The target with its one -1 filled in; None where the number of elements does not fit."""
    count = prod(shape)
    known = prod(size for size in target if size != -1)
    if list(target).count(-1) == 1:
        if known == 0 or count % known:
            return None
        return tuple(count // known if size == -1 else size for size in target)
    return tuple(target) if known == count and -1 not in target else None


def can_view(shape: Sequence[int], stride: Sequence[int], target: Sequence[int]) -> bool:
    """Whether `view` of a tensor works; `target` has the right number of elements.

    Neighbouring axes can be taken together, and split again, only if stepping over the end of one
    leads to the next element of the other.
    """
    if prod(shape) == 0:
        return True
    left = list(target)
    for size, _ in runs(shape, stride):
        filled = 1
        while filled < size and left:
            filled *= left.pop()
        if filled != size:
            return False
        while left and left[-1] == 1:
            left.pop()
    return all(size == 1 for size in left)


def runs(shape: Sequence[int], stride: Sequence[int]) -> list[tuple[int, int]]:
    """Axes that lie in memory as one, the last first: (elements, step)."""
    merged: list[tuple[int, int]] = []
    for size, step in reversed(list(zip(shape, stride, strict=True))):
        if size == 1:
            continue
        if merged and step == merged[-1][0] * merged[-1][1]:
            merged[-1] = merged[-1][0] * size, merged[-1][1]
        else:
            merged.append((size, step))
    return merged or [(1, 1)]
