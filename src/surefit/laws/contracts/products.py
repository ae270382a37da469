"""What a matrix product takes: the last size of one is the last but one of the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.violations import Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.operations.failing_calls import failing_call
from surefit.laws.operations.operands import result_is

PRODUCTS = ("matmul", "mm", "bmm")
Turned = Literal["left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerSizes(Violation):
    """The two sizes that a product sums over differ."""

    left: Operand
    right: Operand
    inner: tuple[str, str]
    """The last size of the left side and the last but one of the right."""
    turns: tuple[Turned, ...]
    """Sides that fit once their last two axes are swapped."""

    def holds(self, side: str, case: Case) -> ValuesAt | None:
        """That the product has the shape that it has with one side turned."""
        first, second = self.left.shape, self.right.shape
        if not first or not second:
            return None
        if side == "right":
            return result_is(case, self.use, (*first[:-1], second[-2]))
        return result_is(case, self.use, (*first[:-2], first[-1], second[-1]))


def violations_of(case: Case) -> Iterator[Violation]:
    """Of a product that is written in the user's own code."""
    call = failing_call(case)
    if case.own is None or call is None or not call.written or call.operation not in PRODUCTS:
        return
    left, right = (call.operands.get(name) for name in ("input", "other"))
    if left is None or right is None:
        return
    first, second = left.shape, right.shape
    if min(len(first), len(second)) < 2 or first[-1] == second[-2]:
        return
    if len(first) == len(second) and first[:-2] != second[:-2]:
        return
    yield InnerSizes(
        use=use_of(case.own),
        left=left,
        right=right,
        inner=(str(first[-1]), str(second[-2])),
        turns=tuple(turns(first, second)),
    )


def turns(first: tuple[int, ...], second: tuple[int, ...]) -> Iterator[Turned]:
    if first[-1] == second[-1]:
        yield "right"
    if first[-2] == second[-2]:
        yield "left"
