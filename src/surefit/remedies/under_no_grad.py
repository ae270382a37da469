"""A statement, and those after it that write in the same way, under `with torch.no_grad():`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import OperatorAt
from surefit.remedies.statements import statement_at
from surefit.source.in_place import written_text
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

STEP = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderNoGrad(OperatorAt):
    """Where `torch` is imported under its own name."""

    def edit(self, case: Case) -> Edit | None:
        source, statement = statement_at(case, self.at)
        return under_no_grad(source, statement) if source and statement else None


def under_no_grad(source: Source, statement: ast.stmt) -> Edit | None:
    statements = list(together(source, statement))
    shared = any(shares_lines(source, other) for other in statements)
    if not statements or not has_torch(source) or shared:
        return None
    column, first = source.span(statement).column, statement.lineno
    indent = source.lines[first - 1][:column]
    head = Replace(Span(first, 0, first, 0), f"{indent}with torch.no_grad():{source.newline}{STEP}")
    last = statements[-1].end_lineno or statements[-1].lineno
    lines = [line for line in range(first + 1, last + 1) if source.lines[line - 1]]
    return Edit(source.file, (head, *(Replace(Span(line, 0, line, 0), STEP) for line in lines)))


def has_torch(source: Source) -> bool:
    """It is imported under its own name."""
    imports = (alias.name for alias in source.every(ast.alias) if alias.asname is None)
    return any(name.partition(".")[0] == "torch" for name in imports)


def together(source: Source, statement: ast.stmt) -> Iterator[ast.stmt]:
    block = block_of(source, statement)
    for other in block[block.index(statement) :]:
        if type(other) is not type(statement) or written_text(source, other) is None:
            return
        yield other
