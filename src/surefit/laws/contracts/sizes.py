"""What joins and sums take: tensors of equal sizes, but for the axis of a join."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.layers.ways import WidthSource, sized_by
from surefit.laws.operations.demands import conflicts, number_in
from surefit.laws.operations.failing_calls import FailingCall, failing_call

JOINS = ("cat", "concat", "concatenate")
STACKS = ("stack",)
ELEMENTWISE = ("add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_")
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
    call = failing_call(case)
    if case.own is None or call is None or not call.written:
        return
    operation, operands = call.operation.rstrip("_"), paired(call)
    rank = len(operands[0].shape) if len(operands) > 1 else 0
    if rank < 2 or any(len(operand.shape) != rank for operand in operands):
        return
    along = (number_in(call.given, "dim") or 0) if operation in JOINS else None
    axes = tuple(
        axis
        for axis in range(-rank, 0)
        if (along is None or axis != along % rank - rank)
        and differ(operation, [operand.shape[axis] for operand in operands])
    )
    if axes and next(conflicts(call.contract.demands, call.given), None) is not None:
        plain = operation in ("add", *JOINS, *STACKS)
        dim = None if along is None else along % rank - rank
        yield SizesDiffer(
            use=use_of(case.own),
            operation=operation if plain else "arithmetic",
            operands=operands,
            dim=dim,
            axes=axes,
            of_maps=is_of_maps(rank, axes, dim),
        )


def paired(call: FailingCall) -> tuple[Operand, ...]:
    """The tensors of a list that is joined, or the two sides."""
    if call.operation in (*JOINS, *STACKS):
        names = [name for name in call.operands if name.startswith("tensors[")]
    else:
        names = ["input", "other"] if call.operation in ELEMENTWISE else []
    return tuple(call.operands[name] for name in names if name in call.operands)


def differ(operation: str, sizes: list[int]) -> bool:
    """A size of 1 is repeated where element meets element."""
    joined = operation in (*JOINS, *STACKS)
    return len(set(sizes) if joined else set(sizes) - {1}) > 1
