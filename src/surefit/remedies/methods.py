"""Another method in place of the one that is called: `.reshape` for `.view`."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import OperatorAt
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameMethod(OperatorAt):
    """Nothing but the name of the method changes."""

    to: str

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if source is None or not isinstance(node, ast.Call):
            return None
        if not isinstance(node.func, ast.Attribute):
            return None
        span = source.span(node.func)
        begin = span.end_column - len(node.func.attr)
        name = Span(span.end_line, begin, span.end_line, span.end_column)
        return Edit(source.file, (Replace(name, self.to),))
