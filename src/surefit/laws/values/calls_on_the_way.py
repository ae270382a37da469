"""Calls of the user's that values on a lineage were given to."""

import ast
from collections.abc import Callable, Iterator

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer


def calls_with(
    case: Case, lineage: Lineage, argument: str, fits: Callable[[ast.expr], bool]
) -> Iterator[tuple[Expression, Producer]]:
    """Calls that have an argument of this name which fits, newest first, each with the expression
    on the lineage that stands in it."""
    for producer in lineage.all:
        source, node = case.source(producer), case.node(producer)
        if source is None or node is None:
            continue
        for outer in (node, *source.up(node)):
            if isinstance(outer, ast.stmt):
                break
            value = source.argument(outer, argument) if isinstance(outer, ast.Call) else None
            if isinstance(outer, ast.Call) and value is not None and fits(source.value_of(value)):
                yield case.expression(source, outer), producer
