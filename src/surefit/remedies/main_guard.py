"""A statement of the module, and what follows it, under `if __name__ == "__main__":`."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.laws.case import Case
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

GUARD = 'if __name__ == "__main__":'
STEP = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardMain:
    """To the end of the file; not where that would change a text of several lines, or hide a
    definition from the processes."""

    source: Source
    top: ast.stmt
    must: Condition | None = None
    words: str = f"Put it, and what follows, under `{GUARD}`."
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        source, top = self.source, self.top
        module = source.scope_of(top)
        body = module.body if isinstance(module, ast.Module) else []
        moved = body[body.index(top) :] if top in body else []
        inside = [node for statement in moved for node in ast.walk(statement)]
        texts = [node for node in inside if isinstance(node, ast.Constant | ast.JoinedStr)]
        if not moved or any(node.end_lineno != node.lineno for node in texts):
            return None
        if any(isinstance(statement, ast.FunctionDef | ast.ClassDef) for statement in moved):
            return None
        first, last = top.lineno, moved[-1].end_lineno or top.lineno
        lines = [line for line in range(first, last + 1) if source.lines[line - 1].strip()]
        head = Replace(Span(first, 0, first, 0), f"{GUARD}{source.newline}{STEP}")
        indented = (Replace(Span(line, 0, line, 0), STEP) for line in lines[1:])
        return Edit(source.file, (head, *indented))
