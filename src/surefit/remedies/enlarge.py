"""A number of the source made larger: rows of a table, positions, types."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.source.edits import replaced
from surefit.source.patches import Edit

SIMPLE = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp


@dataclass(frozen=True, slots=True, kw_only=True)
class Enlarge:
    """A literal becomes the sum; an expression gets `+ by` after it. Another size is another model:
    the user chooses it."""

    at: Written | None
    by: int
    words: str
    must: Condition | None = None
    choice: bool = True

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at.place) if self.at else None
        if node is None or source is None:
            return None
        return replaced(source, node, more(node, source.segment(node), self.by))


def more(written: ast.expr, text: str, count: int) -> str:
    """`n + 1`; of a plain number the sum."""
    if isinstance(written, ast.Constant) and type(written.value) is int:
        return str(written.value + count)
    if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Add):
        last = written.right
        if isinstance(last, ast.Constant) and type(last.value) is int:
            return f"{text[: text.rindex(str(last.value))]}{last.value + count}"
    return f"{text} + {count}" if isinstance(written, SIMPLE) else f"({text}) + {count}"
