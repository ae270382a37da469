"""Reshapes that do not fit, as `surefit.laws.contracts.reshapes` has them."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.operands import STAND_IN, expression_of, operand_of, stand_in
from surefit.interpreter.violations import NonContiguousView, ReshapeMismatch, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.reshapes import ElementCount, NotContiguous, count_differs
from surefit.laws.frame_numbers import size_nodes
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    if isinstance(violation, ReshapeMismatch):
        call = violation.node
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call
        tensor = operand_of(source, violation.tensor, receiver, receiver)
        target = tuple(map(stand_in, violation.target))
        use = expression_of(source, call)
        written = [case.expression(source, part) for part in size_nodes(call.args)]
        mismatches: Iterator[ElementCount] = count_differs(use, tensor, target, written)
        for broken in mismatches:
            if all(size < STAND_IN for size in (*broken.axes, *broken.asked)):
                yield broken
    elif isinstance(violation, NonContiguousView):
        call = violation.node
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call
        tensor = operand_of(source, violation.tensor, receiver, violation.cause)
        use = expression_of(source, call)
        yield NotContiguous(use=use, tensor=tensor, call=use.text)
