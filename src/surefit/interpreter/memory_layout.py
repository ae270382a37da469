"""How the elements of a tensor lie in memory: what `view` can do with it.

A number of rows that is not known stands as a large prime in strides, so that they can be compared;
it is taken for more than one.
"""

import ast
from math import prod

from surefit.interpreter.shapes import Shape, Size, SymbolicSize
from surefit.interpreter.value_queries import is_none, items_of
from surefit.interpreter.values import AbstractValue, SliceValue, TensorValue, integer_of
from surefit.laws.operations.strides import can_view, contiguous_strides, inferred

LARGE_PRIME = 10_007
"""Stands for a number of rows that is not known: no other size is a multiple of it."""


def numeric_sizes(sizes: tuple[Size, ...]) -> tuple[int, ...] | None:
    """Sizes with a large prime number for one that is not known; None where there are more."""
    unknown = {size for size in sizes if not isinstance(size, int)}
    if len(unknown) > 1 or None in unknown:
        return None
    return tuple(size if isinstance(size, int) else LARGE_PRIME for size in sizes)


def contiguous(shape: Shape) -> tuple[int, ...] | None:
    """Strides of a contiguous tensor."""
    sizes = None if shape.more else numeric_sizes(shape.sizes)
    return None if sizes is None or 0 in sizes else contiguous_strides(sizes)


def strides_after_index(
    tensor: TensorValue, index: AbstractValue, shape: Shape, node: ast.AST
) -> tuple[tuple[int, ...] | None, ast.AST | None]:
    """After slices with a step of one, such as `x[:, 1:]`."""
    items = items_of(index)
    ends = [slice_ends(part) for part in ((index,) if items is None else items)]
    simple = all(end is not None and end[2] in (None, 1) for end in ends)
    if tensor.strides is None or not simple or len(shape.sizes) != len(tensor.strides):
        return None, None
    return (None, None) if shape.more else (tensor.strides, node)


def cannot_view(tensor: TensorValue, target: tuple[Size, ...]) -> bool:
    """Whether no view of this shape exists, for certain."""
    if tensor.strides is None or tensor.cause is None or tensor.shape.more:
        return False
    have, wanted = numeric_sizes(tensor.shape.sizes), numeric_sizes(target)
    unknown = {size for size in (*tensor.shape.sizes, *target) if isinstance(size, SymbolicSize)}
    if have is None or wanted is None or len(unknown) > 1 or 0 in have:
        return False
    full = inferred(have, wanted)
    if full is None or prod(full) != prod(have):
        return False
    return not can_view(have, tensor.strides, full)


SliceEnds = tuple[int | None, int | None, int | None]


def slice_ends(index: AbstractValue) -> SliceEnds | None:
    """Of a slice; None where they are not known, or it is none."""
    if not isinstance(index, SliceValue):
        return None
    ends: list[int | None] = []
    for end in (index.lower, index.upper, index.step):
        number = integer_of(end)
        if number is None and not is_none(end):
            return None
        ends.append(number)
    return ends[0], ends[1], ends[2]
