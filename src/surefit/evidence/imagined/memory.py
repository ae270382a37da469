"""How the elements of a tensor lie in memory: what `view` can do with it.

A step is a product, as a number and the unknown sizes that it is multiplied with, so that it can be
compared where a number of rows is not known. An unknown size is taken for more than one.
"""

import ast
from math import prod
from typing import Any

from surefit.evidence.imagined.shapes import Shape, Size, Some
from surefit.evidence.imagined.values import Tensor
from surefit.laws.strides import can_view, contiguous_strides, inferred

LARGE = 10_007
"""Stands for a number of rows that is not known: no other size is a multiple of it."""


def numbers(sizes: tuple[Size, ...]) -> tuple[int, ...] | None:
    """Sizes with a large prime number for one that is not known; None where there are more."""
    unknown = {one for one in sizes if not isinstance(one, int)}
    if len(unknown) > 1 or None in unknown:
        return None
    return tuple(one if isinstance(one, int) else LARGE for one in sizes)


def in_order(shape: Shape) -> tuple[int, ...] | None:
    """Steps of a tensor whose elements lie one behind the other."""
    sizes = None if shape.more else numbers(shape.sizes)
    return None if sizes is None or 0 in sizes else contiguous_strides(sizes)


def after_turn(
    tensor: Tensor, order: tuple[int, ...], node: ast.AST
) -> tuple[tuple[int, ...] | None, ast.AST | None]:
    """Steps after axes were put into another order."""
    if tensor.strides is None or len(order) != len(tensor.strides):
        return None, None
    return tuple(tensor.strides[at] for at in order), node


def after_index(
    tensor: Tensor, index: Any, shape: Shape, node: ast.AST
) -> tuple[tuple[int, ...] | None, ast.AST | None]:
    """Steps after slices with a step of one, such as `x[:, 1:]`."""
    from surefit.evidence.imagined.operators import Sliced, slice_ends
    from surefit.evidence.imagined.values import members

    parts = members(index) if members(index) is not None else (index,)
    simple = all(isinstance(one, Sliced) and slice_ends(one) for one in parts or ())
    if tensor.strides is None or not simple or shape.more:
        return None, None
    ends = [slice_ends(one) for one in parts or ()]
    if any(one is None or one[2] not in (None, 1) for one in ends):
        return None, None
    if len(shape.sizes) != len(tensor.strides):
        return None, None
    return tensor.strides, node


def cannot_view(tensor: Tensor, target: tuple[Size, ...]) -> bool:
    """Whether no view of this shape exists, for certain."""
    if tensor.strides is None or tensor.cause is None or tensor.shape.more:
        return False
    have, wanted = numbers(tensor.shape.sizes), numbers(target)
    unknown = {one for one in (*tensor.shape.sizes, *target) if isinstance(one, Some)}
    if have is None or wanted is None or len(unknown) > 1 or 0 in have:
        return False
    full = inferred(have, wanted)
    if full is None or prod(full) != prod(have):
        return False
    return not can_view(have, tensor.strides, full)
