"""A number of rows that the source states is that of the batch: in reshapes and in loops."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from surefit.doctor.observations import Frame
from surefit.doctor.violations import Expression, Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.operations.operands import operand_in
from surefit.laws.rows.batches import Batches, batches_of, loops_around
from surefit.laws.rows.row_counts import fits, is_written_down, leaves
from surefit.laws.values.frame_numbers import integer_in
from surefit.source.constants import integer
from surefit.source.reading import Source

RESHAPES = ("view", "reshape")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRows(Violation):
    """An integer in the source is the number of rows of complete batches, and this one has
    another."""

    number: Expression
    """The integer, or the name of it."""
    count: int
    rows: int
    """Of this batch."""
    tensor: Operand
    """What is reshaped or indexed."""
    batches: Batches
    shape: tuple[int | None, ...] | None = None
    """Of the result of a reshape with the rows of this batch."""


def violations_of(case: Case) -> Iterator[Violation]:
    own, source, node = case.own, case.source(case.own), case.node(case.own)
    if own is None or source is None or case.frames[-1] is not own:
        return
    if isinstance(node, ast.Call) and (parts := reshaped(node)):
        yield from of_reshape(case, own, source, *parts)
    elif isinstance(node, ast.Subscript):
        yield from of_index(case, own, source, node)


def reshaped(node: ast.Call) -> tuple[ast.expr, list[ast.expr]] | None:
    """What a call of `view` or `reshape` is about, and the sizes that it asks for."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr=name), args=args) if name in RESHAPES:
            if isinstance(tensor, ast.Name) and tensor.id == "torch" and args:
                tensor, *args = args
            inside = args[0] if len(args) == 1 else None
            return tensor, inside.elts if isinstance(inside, ast.Tuple | ast.List) else args
    return None


def operand_of(case: Case, source: Source, node: ast.expr) -> Operand:
    operand = operand_in(case, source, node)
    return replace(operand, value=replace(operand.value, text=ast.unparse(node)), use=None)


def of_reshape(
    case: Case, own: Frame, source: Source, node: ast.expr, sizes: list[ast.expr]
) -> Iterator[CountedRows]:
    """The one number that, replaced by the rows of this batch, makes the shape fit."""
    batches = batches_of(case)
    asked = [integer_in(own, size) for size in sizes]
    if batches is None or not all(type(size) is int for size in asked):
        return
    tensor = operand_of(case, source, node)
    count = prod(tensor.shape)
    if not tensor.shape or fits([size or 0 for size in asked], count):
        return
    for rows in rows_in(own, batches):
        for leaf in (leaf for size in sizes for leaf in leaves(size)):
            number = integer_in(own, leaf)
            if number is None or number in (rows, -1):
                continue
            new = [integer_in(own, size, {leaf: rows}) or 0 for size in sizes]
            if (-1 not in new or number == batches.size) and fits(new, count):
                yield CountedRows(
                    use=use_of(own),
                    number=case.expression(source, leaf),
                    count=number,
                    rows=rows,
                    tensor=tensor,
                    batches=batches,
                    shape=tuple(None if size == -1 else size for size in new),
                )
                return


def rows_in(frame: Frame, batches: Batches) -> list[int]:
    """Sizes of the frame's tensors that can be the rows of this batch, first axes first."""
    shapes = [value.shape for value in frame.values if value.shape]
    sizes = [shape[0] for shape in shapes] + [size for shape in shapes for size in shape[1:2]]
    return [size for size in dict.fromkeys(sizes) if batches.can_have(size)]


def of_index(case: Case, own: Frame, source: Source, node: ast.Subscript) -> Iterator[CountedRows]:
    """A loop over `range(BATCH)` counts past the rows."""
    index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    known = own.value(ast.unparse(node.value))
    shape = known.shape if known is not None else None
    if not shape or not isinstance(index, ast.Name) or integer_in(own, index) != shape[0]:
        return
    for loop in loops_around(source, own):
        match loop:
            case ast.For(
                target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"), args=[stop])
            ) if counter == index.id and is_written_down(source, stop):
                number = integer_in(own, stop) or integer(source, stop)
                batches = batches_of(case)
                if number is not None and batches is not None and batches.can_have(shape[0]):
                    yield CountedRows(
                        use=use_of(own),
                        number=case.expression(source, stop),
                        count=number,
                        rows=shape[0],
                        tensor=operand_of(case, source, node.value),
                        batches=batches,
                    )
                return
