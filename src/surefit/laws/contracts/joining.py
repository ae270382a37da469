"""Tensors or arrays of a list become one: their shapes agree on all axes but the joined one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Frame
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
    own = case.own
    source = case.source(own)
    node = case.node(use_of(own)) if own is not None else None
    if own is None or source is None or not is_join(source, node):
        return
    joined = joined_list(case, own, source, node)
    if joined is None:
        return
    scope = source.scope_of(node) if node is not None else None
    others = [
        other
        for call in source.every(ast.Call)
        if call is not node and source.scope_of(call) is scope and is_join(source, call)
        if (other := joined_list(case, own, source, call)) is not None
    ]
    yield UnequalWidths(use=use_of(own), joined=joined, others=tuple(others))


def is_join(source: Source, node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Call) or not node.args or called(node) not in JOINS:
        return False
    plain = isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript)
    return plain and source.imported(node.func).startswith(MODULES)


def joined_list(case: Case, own: Frame, source: Source, node: ast.expr | None) -> JoinedList | None:
    assert isinstance(node, ast.Call)
    assert case.crash is not None
    axis = source.argument(node, "axis", 1) or source.argument(node, "dim", 1)
    along = 0 if axis is None else axis.value if isinstance(axis, ast.Constant) else None
    if type(along) is not int:
        return None
    about = {"frame": case.number, "text": ast.unparse(node.args[0])}
    shapes = case.ask(ListShapes, **about)
    differing = differing_axis(shapes, along) if shapes is not None else None
    if shapes is None or differing is None:
        return None
    return JoinedList(
        call=case.expression(source, node),
        items=case.expression(source, node.args[0]),
        along=along,
        axis=differing,
        shapes=shapes,
    )


def differing_axis(known: ListShapes, along: int) -> int | None:
    if len({len(shape) for shape in known.shapes}) != 1 or len(known.kinds) != 1:
        return None
    axes = [axis for axis in range(len(known.shapes[0])) if axis != along]
    apart = [axis for axis in axes if len({shape[axis] for shape in known.shapes}) > 1]
    return apart[0] if len(apart) == 1 else None
