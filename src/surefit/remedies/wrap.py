"""Text around an expression: `labels - 1`, `int(label)`, `torch.as_tensor(labels)`."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.alike import in_every_call
from surefit.remedies.change import OperatorAt
from surefit.source.edits import with_import, wrapped
from surefit.source.patches import Edit

TIGHT = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant | ast.GeneratorExp


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrap(OperatorAt):
    """`before` and `after` an expression; one that binds less tightly than an operator gets
    parentheses."""

    before: str = ""
    after: str = ""
    alike: bool = True
    imports: str = ""
    """A module that the text needs: `torch`."""

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None:
            return None

        def change(expression: ast.expr) -> Edit:
            called = self.before.endswith("(") or isinstance(expression, TIGHT)
            before, after = (
                (self.before, self.after) if called else (f"{self.before}(", f"){self.after}")
            )
            return wrapped(source, expression, before, after)

        edit = in_every_call(source, node, change) if self.alike else change(node)
        return with_import(edit, source, self.imports, None) if edit and self.imports else edit
