"""Products whose inner sizes differ, as `surefit.laws.contracts.products` has them."""

from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.shapes import Shape
from surefit.interpreter.violations import ProductMismatch, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.products import InnerSizes, Turned
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    if not isinstance(violation, ProductMismatch):
        return
    (first, second), (left, right) = violation.tensors, violation.nodes
    yield InnerSizes(
        use=expression_of(source, violation.node),
        left=operand_of(source, first, left, left),
        right=operand_of(source, second, right, right),
        inner=(str(first.shape.size(-1)), str(second.shape.size(-2))),
        turns=tuple(turns(first.shape, second.shape)),
    )


def turns(left: Shape, right: Shape) -> Iterator[Turned]:
    if right.has(-2) and left.size(-1) == right.size(-1):
        yield "right"
    if left.has(-2) and left.size(-2) == right.size(-2):
        yield "left"
