"""Joins and sums of different sizes, as `surefit.laws.contracts.sizes` has them."""

from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.contracts.widths import width_source
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.violation_kinds import is_of_map_sides, is_of_widths
from surefit.interpreter.violations import JoinMismatch, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.source.reading import Source

NAMES = {"sum": "add", "cat": "cat", "stack": "stack"}


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    if not isinstance(violation, JoinMismatch):
        return
    maps = is_of_map_sides(violation)
    if not maps and not is_of_widths(violation):
        return
    yield SizesDiffer(
        use=expression_of(source, violation.node),
        operation=NAMES[violation.how],
        operands=tuple(
            operand_of(source, tensor, node, node)
            for tensor, node in zip(violation.tensors, violation.nodes, strict=True)
        ),
        dim=None,
        axes=(violation.axis,),
        of_maps=maps,
        sources=tuple(
            None if maps else width_source(case, source, tensor.source_layer)
            for tensor in violation.tensors
        ),
    )
