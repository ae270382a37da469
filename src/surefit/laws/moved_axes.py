"""Whether sizes before and after a `view` say that axes were to be moved, and to which order."""

import ast
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, pairwise
from math import prod

from surefit.source.reading import Source, dotted, targets

MOST_AXES = 6


def nests(before: Sequence[int], after: Sequence[int]) -> bool:
    """Neighbouring axes are only joined and parted: no piece of one ends inside a piece of the
    other."""
    pieces = sorted({*suffixes(before), *suffixes(after)})
    return all(larger % smaller == 0 for smaller, larger in pairwise(pieces))


def suffixes(sizes: Sequence[int]) -> Iterator[int]:
    return accumulate(reversed(sizes), int.__mul__)


def order_of(fine: Sequence[int], coarse: Sequence[int]) -> tuple[int, ...]:
    """Axes of `fine` in an order in which they join to `coarse`, the first staying where it is;
    empty where there is none. Of several the one that leaves most where it is."""
    if not len(coarse) <= len(fine) <= MOST_AXES or fine[:1] != coarse[:1]:
        return ()
    orders = [(0, *rest) for rest in _joined(tuple(range(1, len(fine))), fine, coarse[1:])]
    return min(orders, key=_inversions, default=())


def _joined(
    axes: tuple[int, ...], fine: Sequence[int], coarse: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    if not coarse:
        if not axes:
            yield ()
        return
    for count in range(1, len(axes) + 1):
        for group in combinations(axes, count):
            if prod(fine[axis] for axis in group) == coarse[0]:
                rest = tuple(axis for axis in axes if axis not in group)
                for others in _joined(rest, fine, coarse[1:]):
                    yield (*group, *others)


def _inversions(order: Sequence[int]) -> int:
    return sum(first > second for first, second in combinations(order, 2))


def names_a_moved_axis(
    source: Source, call: ast.Call, sizes: Sequence[ast.expr], shapes: Sequence[Sequence[int]]
) -> bool:
    """A size that is written as one of the tensor's own axes, `x.size(2)` or a name from `b, c, t =
    x.shape`, stands where that axis does not lie in memory."""
    before, after = shapes
    owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if not owner or len(sizes) != len(after):
        return False
    named = names_of_axes(source, call, owner)
    for at, size in enumerate(sizes):
        axis = axis_of(size, owner) if not isinstance(size, ast.Name) else named.get(size.id)
        if axis is None or not 0 < axis < len(before) or before[axis] != after[at]:
            continue
        if prod(before[:axis]) != prod(after[:at]):
            return True
    return False


def names_of_axes(source: Source, call: ast.Call, owner: str) -> dict[str, int]:
    """`b, c, t = x.shape`."""
    named: dict[str, int] = {}
    for node in ast.walk(source.scope_of(call)):
        if not isinstance(node, ast.Assign) or node.lineno > call.lineno:
            continue
        for target in targets(node):
            if isinstance(target, ast.Tuple) and is_shape(node.value, owner):
                names = (name.id if isinstance(name, ast.Name) else "" for name in target.elts)
                named |= {name: axis for axis, name in enumerate(names)}
            elif isinstance(target, ast.Name):
                named.pop(target.id, None)
                axis = axis_of(node.value, owner)
                if axis is not None:
                    named[target.id] = axis
    return named


def is_shape(node: ast.expr, owner: str) -> bool:
    """`x.shape`, `x.size()`."""
    if isinstance(node, ast.Call) and not node.args:
        return dotted(node.func) == f"{owner}.size"
    return dotted(node) == f"{owner}.shape"


def axis_of(node: ast.expr, owner: str) -> int | None:
    """`x.shape[1]`, `x.size(1)`."""
    match node:
        case ast.Subscript(value=whole, slice=ast.Constant(value=int(axis))):
            return axis if is_shape(whole, owner) else None
        case ast.Call(args=[ast.Constant(value=int(axis))], keywords=[]):
            return axis if dotted(node.func) == f"{owner}.size" else None
    return None
