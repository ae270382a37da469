"""Where in the user's files a number is written, if it is at one place only."""

import ast

from surefit.doctor.violations import Expression
from surefit.laws.case import Case


def only_literal(case: Case, number: int) -> Expression | None:
    """The one place in the user's files at which this number is written; equal ones elsewhere
    could be anything."""
    found = [
        case.expression(source, node)
        for source in case.recording.sources()
        for node in source.every(ast.Constant)
        if type(node.value) is int and node.value == number
    ]
    return found[0] if len(found) == 1 else None
