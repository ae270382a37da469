"""Masks that lack axes, as `surefit.laws.contracts.masks` has them."""

from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.violations import MaskMismatch, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.masks import MaskAxes
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    """Of a mask (N, S) for a tensor with more axes, whose first and last are these."""
    if not isinstance(violation, MaskMismatch):
        return
    mask, sizes = violation.mask.shape, violation.tensor.shape
    if mask.rank != 2 or sizes.rank is None or sizes.rank < 3:
        return
    if (mask.size(0), mask.size(1)) != (sizes.size(0), sizes.size(-1)):
        return
    yield MaskAxes(
        use=expression_of(source, violation.node),
        mask=operand_of(source, violation.mask, violation.mask_node, violation.birth),
        over=operand_of(source, violation.tensor, violation.node, violation.node),
        index=f"[:, {'None, ' * (sizes.rank - 2)}:]",
        meets=(str(mask.size(0)), sizes.rank - 2, str(sizes.size(-2))),
    )
