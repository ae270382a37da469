"""Tensors or arrays of a list become one: their shapes agree on all axes but the joined one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of
from surefit.source.reading import Source, called

JOINS = ("concatenate", "cat", "concat", "vstack", "row_stack")
"""Along an axis that there is."""
MODULES = ("numpy", "torch")


@dataclass(frozen=True, slots=True)
class ListShapes:
    """Of everything in a list, as the crashed process tells."""

    probe: ClassVar[str] = "shapes-in-list"

    shapes: list[list[int]]
    kinds: list[str]
    """`tensor`, `array`."""
    dtypes: list[str]
    least: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedList:
    """A call that joins a list, and what the list holds."""

    call: Expression
    items: Expression
    along: int
    axis: int
    """The one other axis on which sizes differ."""
    shapes: ListShapes

    @property
    def widths(self) -> list[int]:
        return [shape[self.axis] for shape in self.shapes.shapes]

    @property
    def rows(self) -> int:
        return sum(shape[self.along] for shape in self.shapes.shapes)

    @property
    def whole(self) -> tuple[int, ...]:
        """The shape once all are as wide as the widest."""
        sizes = list(self.shapes.shapes[0])
        sizes[self.along], sizes[self.axis] = self.rows, max(self.widths)
        return tuple(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalWidths(Violation):
    """Sizes differ on one axis that is not the one they are joined along."""

    joined: JoinedList
    others: tuple[JoinedList, ...] = ()
    """Further calls of the same function that join lists of unequal widths."""


def violations_of(case: Case) -> Iterator[Violation]:
    own, source, node = case.own, case.source(case.own), case.node(case.own)
    joined = joined_list(case, source, node) if source is not None else None
    if own is None or source is None or node is None or joined is None:
        return
    others = [
        other
        for call in source.every(ast.Call)
        if call is not node and source.scope_of(call) is source.scope_of(node)
        if (other := joined_list(case, source, call)) is not None
    ]
    yield UnequalWidths(use=use_of(own), joined=joined, others=tuple(others))


def joined_list(case: Case, source: Source, node: ast.expr | None) -> JoinedList | None:
    if not isinstance(node, ast.Call) or not node.args or called(node) not in JOINS:
        return None
    plain = isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript)
    axis = source.argument(node, "axis", 1) or source.argument(node, "dim", 1)
    along = 0 if axis is None else axis.value if isinstance(axis, ast.Constant) else None
    if not plain or type(along) is not int or not source.imported(node.func).startswith(MODULES):
        return None
    shapes = case.ask(ListShapes, frame=case.number, text=ast.unparse(node.args[0]))
    differing = differing_axis(shapes, along) if shapes is not None else None
    if shapes is None or differing is None:
        return None
    call, items = case.expression(source, node), case.expression(source, node.args[0])
    return JoinedList(call=call, items=items, along=along, axis=differing, shapes=shapes)


def differing_axis(known: ListShapes, along: int) -> int | None:
    if len({len(shape) for shape in known.shapes}) != 1 or len(known.kinds) != 1:
        return None
    axes = [axis for axis in range(len(known.shapes[0])) if axis != along]
    apart = [axis for axis in axes if len({shape[axis] for shape in known.shapes}) > 1]
    return apart[0] if len(apart) == 1 else None
