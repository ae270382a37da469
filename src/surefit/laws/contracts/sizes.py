"""What joins and sums take: tensors of equal sizes, but for the axis of a join."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.violations import Expression, Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.operands import fails_in_own_code, operand_in
from surefit.laws.ways import WidthSource, sized_by
from surefit.source.reading import Source, called

JOINS = ("cat", "concat", "concatenate")
STACKS = ("stack",)
ELEMENTWISE = ("add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_")
ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div
SMALLEST_MAP = 3
"""Axes of a map: rows, channels and at least one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesDiffer(Violation):
    """Tensors of one rank that are joined, stacked or combined element by element differ in size
    where they must not."""

    operation: str
    """`cat`, `stack`, `add`."""
    operands: tuple[Operand, ...]
    dim: int | None
    """Along which they are joined, counted from the end; None where element meets element."""
    axes: tuple[int, ...]
    """Where they differ, counted from the end."""
    of_maps: bool
    """Only heights, widths or lengths differ; rows and channels fit, or are joined."""
    sources: tuple[WidthSource | None, ...] = ()
    """Of source that was only read: the layers that gave the sizes."""

    @property
    def joins(self) -> bool:
        return self.operation in (*JOINS, *STACKS)

    @property
    def rank(self) -> int:
        return len(self.operands[0].shape)

    def source_of(self, operand: Operand, case: Case) -> WidthSource | None:
        """The layer that gave it the size that differs."""
        if self.sources:
            return self.sources[self.operands.index(operand)]
        return sized_by(case.lineage(operand), self.axes[0])


def is_of_maps(rank: int, axes: tuple[int, ...], dim: int | None) -> bool:
    inner = range(2 - rank, 0) if rank >= SMALLEST_MAP else ()
    return set(axes) <= set(inner) and dim in (None, 1 - rank)


def violations_of(case: Case) -> Iterator[Violation]:
    """Of a join or a sum that is written in the user's own code."""
    if case.own is None or not fails_in_own_code(case):
        return
    use = use_of(case.own)
    source = case.source(use.place)
    together = parts_of(source, case, use) if source is not None else None
    if together is None:
        return
    operation, operands, dim = together
    rank = len(operands[0].shape) if len(operands) > 1 else 0
    if rank < 2 or any(len(operand.shape) != rank for operand in operands):
        return
    along = None if dim is None else dim if dim < 0 else dim - rank
    axes = tuple(
        axis
        for axis in range(-rank, 0)
        if axis != along and differ(operation, [operand.shape[axis] for operand in operands])
    )
    if axes:
        yield SizesDiffer(
            use=use,
            operation=operation,
            operands=operands,
            dim=along,
            axes=axes,
            of_maps=is_of_maps(rank, axes, along),
        )


Together = tuple[str, tuple[Operand, ...], int | None]
"""The operation, its tensors, and the axis of a join."""


def parts_of(source: Source, case: Case, use: Expression) -> Together | None:
    node = case.node(use)
    statement = source.statement_at(use.place.line or 0) if node is None else None
    match node or statement:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, ARITHMETIC):
            return arithmetic(op), both(case, source, left, right), None
        case ast.AugAssign(target=left, op=op, value=right) if isinstance(op, ARITHMETIC):
            return arithmetic(op), both(case, source, left, right), None
        case ast.Call(args=[first, *_]) as call if called(call) in (*JOINS, *STACKS):
            axis = written_axis(source, call) if called(call) in JOINS else None
            return called(call), listed(case, source, first), axis
        case ast.Call(args=[left, right]) as call if called(call) in ELEMENTWISE:
            return called(call).rstrip("_"), both(case, source, left, right), None
        case ast.Call(func=ast.Attribute(value=left), args=[right]) as call if (
            called(call) in ELEMENTWISE
        ):
            return called(call).rstrip("_"), both(case, source, left, right), None
    return None


def arithmetic(op: ast.operator) -> str:
    return "add" if isinstance(op, ast.Add) else "arithmetic"


def both(case: Case, source: Source, *nodes: ast.expr) -> tuple[Operand, ...]:
    return tuple(operand_in(case, source, node) for node in nodes)


def listed(case: Case, source: Source, node: ast.expr) -> tuple[Operand, ...]:
    """The tensors of a list that is written there, or that has a name."""
    if isinstance(node, ast.List | ast.Tuple):
        starred = any(isinstance(item, ast.Starred) for item in node.elts)
        return () if starred else both(case, source, *node.elts)
    text, number = ast.unparse(node), case.number
    value = case.value(number, text)
    return tuple(
        Operand(value=replace(member, text=f"{text}[{key}]"), name=f"`{text}[{key}]`", frame=number)
        for key, member in (value.members.items() if value is not None else ())
    )


def written_axis(source: Source, call: ast.Call) -> int:
    """The first where the call names none."""
    node = source.argument(call, "dim", 1) or source.argument(call, "axis")
    try:
        value = ast.literal_eval(node) if node is not None else 0
    except ValueError:
        return 0
    return value if type(value) is int else 0


def differ(operation: str, sizes: list[int]) -> bool:
    """A size of 1 is repeated where element meets element."""
    joined = operation in (*JOINS, *STACKS)
    return len(set(sizes) if joined else set(sizes) - {1}) > 1
