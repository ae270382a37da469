"""Other numbers for labels or ids, each by the same arithmetic: of a number, a tensor, a list."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Value
from surefit.doctor.violations import Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.remedies.alike import in_every_call
from surefit.remedies.change import Operator
from surefit.source.edits import wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source

TIGHT = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(Operator):
    """`by` follows the expression: ` - 1`; with a closing parenthesis, an opening one precedes."""

    at: Written | None
    by: str
    value: Value | None = None
    """What the expression evaluates to; without it, a tensor."""

    @property
    def words(self) -> str:
        where = f" at {self.at.place}" if self.at is not None else ""
        text = self.at.text if self.at is not None else "..."
        shown = f"({text}{self.by}" if self.opens else f"{text}{self.by}"
        return f"Count from 0{where}: {code(shown)}."

    @property
    def opens(self) -> bool:
        return self.by.count(")") > self.by.count("(")

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at.place) if self.at else None
        if node is None or source is None:
            return None
        return in_every_call(source, node, lambda expression: self.shifted(source, expression))

    def shifted(self, source: Source, node: ast.expr) -> Edit | None:
        before, after = "(" if self.opens else "", self.by
        value = self.value
        if value is not None and value.kind in ("list", "tuple"):
            item = f"{before}label{after}"
            if value.lengths:
                return wrapped(source, node, f"[[{item} for label in row] for row in ", "]")
            return wrapped(source, node, f"[{item} for label in ", "]")
        if value is not None and value.shape is None and value.scalar is None:
            return None
        if not isinstance(node, TIGHT):
            before, after = f"{before}(", f"){after}"
        return wrapped(source, node, before, after)
