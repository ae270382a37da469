"""Tensors that were to be joined or added and do not fit, and on which axes they differ."""

from dataclasses import dataclass

from surefit.doctor.observations import Operation
from surefit.evidence.failed_operations import Failure

JOINS = ("cat", "concat", "concatenate")
STACKS = ("stack",)
ELEMENTWISE = ("add", "sub", "mul", "div", "truediv")
SMALLEST_MAP = 3
"""Axes of a map: rows, channels and at least one more."""


@dataclass(frozen=True, slots=True)
class Misjoin:
    """An operation on tensors of one rank whose sizes differ where they must not."""

    failure: Failure
    operands: tuple[Operation, ...]
    dim: int | None
    """Along which they were to be joined; None where element meets element."""
    axes: tuple[int, ...]
    """From the end, so that they are below zero."""

    @property
    def joins(self) -> bool:
        return self.failure.name in JOINS

    @property
    def stacks(self) -> bool:
        return self.failure.name in STACKS

    @property
    def rank(self) -> int:
        return len(self.operands[0].shape)

    def sizes(self, axis: int) -> list[int]:
        return [one.shape[axis] for one in self.operands]

    @property
    def inner_axes(self) -> tuple[int, ...]:
        """Those of a map behind rows and channels."""
        return tuple(range(2 - self.rank, 0)) if self.rank >= SMALLEST_MAP else ()


def misjoin_of(failure: Failure) -> Misjoin | None:
    operands = tuple(failure.given)
    if len(operands) < 2 or failure.name not in (*JOINS, *STACKS, *ELEMENTWISE):
        return None
    rank = len(operands[0].shape)
    if rank < 2 or any(len(one.shape) != rank for one in operands):
        return None
    dim = joined_along(failure, rank)
    may_be_one = failure.name in ELEMENTWISE
    axes = tuple(
        axis
        for axis in range(-rank, 0)
        if axis != dim and differs({one.shape[axis] for one in operands}, may_be_one)
    )
    return Misjoin(failure, operands, dim, axes) if axes else None


def joined_along(failure: Failure, rank: int) -> int | None:
    """The axis, from the end; the first where the call names none."""
    if failure.name not in JOINS:
        return None
    numbers = failure.operation.numbers
    given = int(numbers[0]) if numbers else 0
    return given if given < 0 else given - rank


def differs(sizes: set[int], may_be_one: bool) -> bool:
    return len(sizes - {1} if may_be_one else sizes) > 1
