"""A method or an index behind an expression: `.squeeze(1)`, `.logits`, `[0]`, `.clone()`."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.alike import in_every_call
from surefit.remedies.change import OperatorAt
from surefit.source.edits import appended, with_import
from surefit.source.patches import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(OperatorAt):
    """Nothing else of the line changes; what binds less tightly gets parentheses."""

    suffix: str
    alike: bool = True
    """Also in other calls of the same function that are given the same."""
    imports: tuple[str, str | None] | None = None
    """Module and name that the text needs."""

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None:
            return None

        def change(expression: ast.expr) -> Edit:
            return appended(source, expression, self.suffix)

        edit = in_every_call(source, node, change) if self.alike else change(node)
        return with_import(edit, source, *self.imports) if edit and self.imports else edit
