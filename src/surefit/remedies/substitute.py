"""One number of a tensor replaced by another: a marker by the row for padding."""

import ast
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.remedies.statements import Insert
from surefit.source.edits import replaced
from surefit.source.patches import Edit

NAMED = ast.Name | ast.Attribute | ast.Subscript


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitute(Operator):
    """`ids.masked_fill(ids == -1, 0)` in place of `ids`; of a member of a mapping that is handed
    over whole, in a line before."""

    at: Written | None
    """An expression that can be written twice: a name, an attribute, a subscript."""
    old: int
    new: str
    words: str
    before: Written | None = None
    """The statement that hands over a mapping; then `member` is what it holds."""
    member: str = ""

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at.place) if self.at else None
        if isinstance(node, NAMED) and source is not None:
            return replaced(source, node, self.filled(source.segment(node)))
        if not self.member or self.before is None:
            return None
        text = f"{self.member} = {self.filled(self.member)}"
        return Insert(at=self.before, where="before", text=text, words="").edit(case)

    def filled(self, text: str) -> str:
        return f"{text}.masked_fill({text} == {self.old}, {self.new})"
