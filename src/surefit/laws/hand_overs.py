"""Where a value that has a name is handed on: returned, put into a dictionary or a list, passed."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Expression, Written
from surefit.laws.case import Case
from surefit.source.reading import Source, targets

MOST = 3


def hand_overs(case: Case, written: Written) -> Iterator[Expression]:
    """Uses of the name that an expression is assigned to, in the same function: those that put it
    into something or return it before those that pass it to a call."""
    node, source = case.node(written), case.source(written.place)
    if node is None or source is None:
        return
    uses = sorted(uses_of(source, node), key=lambda use: is_passed(source, use))
    for use in uses[:MOST]:
        yield case.expression(source, use)


def uses_of(source: Source, node: ast.expr) -> list[ast.expr]:
    statement = source.parents.get(node)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not node:
        return []
    texts = {ast.unparse(target) for target in targets(statement)}
    scope = source.scope_of(node)
    return [
        use
        for use in ast.walk(scope)
        if isinstance(use, ast.Name | ast.Attribute)
        and ast.unparse(use) in texts
        and isinstance(use.ctx, ast.Load)
        and use.lineno > node.lineno
        and isinstance(
            source.parents.get(use),
            ast.Dict | ast.List | ast.Tuple | ast.Return | ast.Call | ast.keyword,
        )
    ]


def is_passed(source: Source, use: ast.expr) -> bool:
    return isinstance(source.parents.get(use), ast.Call | ast.keyword)
