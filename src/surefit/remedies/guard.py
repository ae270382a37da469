"""A guard as the first statement of a loop: `if parameter.grad is None: continue`."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import OperatorAt
from surefit.remedies.statements import statement_at
from surefit.source.edits import inserted_before
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, names_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard(OperatorAt):
    """In the loop of the same function that binds a name."""

    over: str
    """A name that the loop binds."""
    unless: str
    """The condition under which a round is skipped."""

    def edit(self, case: Case) -> Edit | None:
        source, statement = statement_at(case, self.at)
        loop = loop_over(source, statement, self.over) if source and statement else None
        if source is None or loop is None or shares_lines(source, loop.body[0]):
            return None
        return inserted_before(source, loop.body[0], f"if {self.unless}:\n    continue")


def loop_over(source: Source, statement: ast.stmt, name: str) -> ast.For | None:
    for loop in source.loops_around(statement):
        if isinstance(loop, ast.For):
            names = set(names_within(loop.target))
            return loop if name in names else None
    return None
