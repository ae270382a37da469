"""Operations of the model run along the axes that are meant."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, pairwise
from math import prod

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, OperationSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.invariants.independent_rows import why_not
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.mixing_operations import VIEWS
from surefit.laws.operations.operation_calls import call_of, line_of
from surefit.source.reading import Source, dotted, targets

LAW = Law("operation_axes", "operations run along the axes that are meant")

MOST_AXES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesScrambled(BrokenLaw):
    """A `view` is to move an axis of every row, which it never does."""

    operation: OperationSeen
    order: tuple[int, ...]
    """Of the axes, in which they would join to the output; of the output's where it has more."""
    also: tuple["AxesScrambled", ...] = ()
    """At other lines: heads are split and joined, say."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    known: dict[str, AxesScrambled] = {}
    for made in case.recording.all(Experimented):
        for operation in made.operations:
            broken = scrambled(made, operation, case)
            if broken is not None:
                known.setdefault(broken.fault, broken)
    every = tuple(known.values())
    if every:
        steps = max(broken.steps for broken in every)
        yield replace(every[0], also=every[1:], steps=steps)


def scrambled(made: Experimented, operation: OperationSeen, case: Case) -> AxesScrambled | None:
    if operation.name not in VIEWS or not operation.numbers or operation.place is None:
        return None
    before, after = operation.inputs[0], operation.output
    order = moved_order(before, after, made.pass_rows)
    if not order or (nests(before, after) and not is_named(operation, case)):
        return None
    shapes = f"from {shape_of(before)} to {shape_of(after)}"
    return AxesScrambled(
        use=line_of(case, operation.place),
        said=f"{code(operation.name)} {shapes} moves no axis: it scrambles values of every row.",
        facts=(
            Fact("sizes", f"{shape_of(before)} before, {shape_of(after)} after"),
            Fact("looked at", f"a forward pass of {code(made.model)} at step {made.step:,}"),
        ),
        steps=made.step + 2,
        fault=f"axes are scrambled at {operation.place}",
        operation=operation,
        order=order,
    )


def moved_order(before: tuple[int, ...], after: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """Empty where no axis has to move, or the first one has."""
    if not before or rows < 2 or before[0] % rows or prod(before) != prod(after):
        return ()
    first, second = plain(before), plain(after)
    fine, coarse = (first, second) if len(first) >= len(second) else (second, first)
    order = order_of(fine, coarse)
    return order if order != tuple(range(len(order))) else ()


def plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The first axis, and others that have more than one element."""
    return (shape[0], *(size for size in shape[1:] if size != 1)) if shape else ()


def is_named(operation: OperationSeen, case: Case) -> bool:
    written = call_of(operation, case)
    source, call = case.source(written), case.node(written)
    if source is None or not isinstance(call, ast.Call):
        return False
    sizes = written_sizes(call)
    return names_a_moved_axis(source, call, sizes, (operation.inputs[0], operation.output))


def written_sizes(call: ast.Call) -> list[ast.expr]:
    """`b, t, c` of `x.view(b, t, c)` and of `x.view((b, t, c))`."""
    if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List):
        return list(call.args[0].elts)
    return list(call.args)


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Experimented))
    looked = [made for made in every if made.pass_rows]
    if looked:
        return MeasuredOn(on=f"a forward pass of {code(looked[0].model)}")
    return MeasuredOn(why_not=why_not(every, lambda made: made.rows))


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
