"""Statements before a loop, moved to its beginning."""

import ast
from dataclasses import dataclass
from textwrap import dedent

from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.source.edits import inserted_before, removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoTheLoop(Operator):
    """They run in each round of it."""

    source: Source
    statements: tuple[ast.stmt, ...]
    body: tuple[ast.stmt, ...]
    """Of the loop."""
    words: str

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        source, first = self.source, self.body[0]
        if any(shares_lines(source, part) for part in (*self.statements, first)):
            return None
        text = "\n".join(lines_of(source, statement) for statement in self.statements)
        return all_of(
            [
                *(removed(source, statement) for statement in self.statements),
                inserted_before(source, first, text),
            ]
        )


def lines_of(source: Source, statement: ast.stmt) -> str:
    """As they are written, without the indentation of their block."""
    last = statement.end_lineno or statement.lineno
    return dedent("\n".join(source.lines[statement.lineno - 1 : last]))
