"""Where two losses of one step take up the same tensor, and how they become one."""

import ast
from collections.abc import Sequence

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.graph_stories import Stood
from surefit.source.edits import both, removed, replaced
from surefit.source.line_edits import block_of, bound_by, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source


def reading_of(case: Case, stack: Sequence[Stood], text: str) -> Expression | None:
    """The one reading of a name in the statement that took its tensor up."""
    for line in reversed(stack):
        source = case.source(line.file)
        statement = source.statement_at(line.line) if source else None
        if source is None or statement is None or hasattr(statement, "body"):
            continue
        reads = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node) == text
        ]
        if len(reads) == 1:
            return case.expression(source, reads[0])
    return None


def call_of(case: Case, line: Stood) -> tuple[Source, ast.stmt] | None:
    source = case.source(line.file)
    statement = source.statement_at(line.line) if source else None
    return (source, statement) if source and statement is not None else None


def one_backward(case: Case, first: Sequence[Stood], second: Sequence[Stood]) -> Edit | None:
    """`a.backward()` goes and `b.backward()` becomes `(a + b).backward()`, in one block."""
    earlier, later = call_of(case, first[-1]), call_of(case, second[-1])
    if earlier is None or later is None or earlier[0] is not later[0]:
        return None
    source, before, after = earlier[0], earlier[1], later[1]
    block = block_of(source, before)
    if after not in block or shares_lines(source, before):
        return None
    losses = [called_on(before), called_on(after)]
    if losses[0] is None or losses[1] is None:
        return None
    between = block[block.index(before) + 1 : block.index(after)]
    if losses[0].id in {name for part in between for name in bound_by(part)}:
        return None
    total = f"({losses[0].id} + {losses[1].id})"
    return both(removed(source, before), replaced(source, losses[1], total))


def called_on(statement: ast.stmt) -> ast.Name | None:
    """The name in `name.backward()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.args or call.keywords:
        return None
    name = call.func.value
    return name if call.func.attr == "backward" and isinstance(name, ast.Name) else None
