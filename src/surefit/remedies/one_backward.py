"""Where two losses of one step take up the same tensor, and how they become one."""

import ast
from collections.abc import Sequence

from surefit.doctor.graph_stories import Stood
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.training.rounds import innermost, standing
from surefit.source.edits import both, removed, replaced
from surefit.source.line_edits import block_of, bound_by, shares_lines
from surefit.source.patches import Edit


def reading_of(case: Case, stack: Sequence[Stood], text: str) -> Expression | None:
    """The one reading of a name in the statement that took its tensor up."""
    for here in standing(case.recording, stack):
        reads = [
            node
            for node in ast.walk(here.statement)
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node) == text
        ]
        if len(reads) == 1 and here.is_simple:
            return case.expression(here.source, reads[0])
    return None


def one_backward(case: Case, first: Sequence[Stood], second: Sequence[Stood]) -> Edit | None:
    """`a.backward()` goes and `b.backward()` becomes `(a + b).backward()`, in one block."""
    earlier, later = innermost(case.recording, first), innermost(case.recording, second)
    if earlier is None or later is None or earlier.source is not later.source:
        return None
    source, before, after = earlier.source, earlier.statement, later.statement
    block, added, loss = block_of(source, before), called_on(before), called_on(after)
    if added is None or loss is None or after not in block or shares_lines(source, before):
        return None
    between = block[block.index(before) + 1 : block.index(after)]
    if added.id in {name for part in between for name in bound_by(part)}:
        return None
    return both(removed(source, before), replaced(source, loss, f"({added.id} + {loss.id})"))


def called_on(statement: ast.stmt) -> ast.Name | None:
    """The name in `name.backward()`."""
    match statement:
        case ast.Expr(
            ast.Call(func=ast.Attribute(ast.Name() as name, "backward"), args=[], keywords=[])
        ):
            return name
    return None
