"""Widths that heads or groups do not divide, as `surefit.laws.contracts.divisions` has them."""

from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter import wording
from surefit.interpreter.operands import expression_of
from surefit.interpreter.violations import NotDivisible, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.divisions import IndivisibleWidth
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    if isinstance(violation, NotDivisible):
        yield IndivisibleWidth(
            use=expression_of(source, violation.node),
            width_name=violation.width_name,
            width=violation.width,
            parts_name=violation.count_name,
            parts=violation.count,
            checked=wording.line_at(source, violation.node),
            parts_written=expression_of(source, violation.birth),
        )
