"""A variable gets another name from the assignment on: where it is read after it, too."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import OperatorAt
from surefit.remedies.statements import statement_at
from surefit.source.edits import replaced
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename(OperatorAt):
    """Of the assignment that an expression is the value of. What is called under the old name, or
    asked for the attributes of what it was, keeps it."""

    name: str
    new: str
    attribute: str = ""
    """That only the old value has."""
    in_class: bool = False
    """An attribute that hides a method: wherever the class reads it."""

    def edit(self, case: Case) -> Edit | None:
        source, statement = statement_at(case, self.at)
        if source is None or not isinstance(statement, ast.Assign | ast.AnnAssign):
            return None
        nodes = renamed_in(source, statement, self)
        return all_of(replaced(source, node, self.new) for node in nodes)


def renamed_in(
    source: Source, statement: ast.Assign | ast.AnnAssign, rename: Rename
) -> Iterator[ast.expr]:
    end = statement.end_lineno or statement.lineno
    scope: ast.AST | None = source.scope_of(statement)
    if rename.in_class:
        scope, end = source.class_around(statement), 0
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Name | ast.Attribute) or ast.unparse(node) != rename.name:
            continue
        if isinstance(node.ctx, ast.Store):
            if rename.in_class or source.statement_of(node) is statement:
                yield node
        elif node.lineno > end and not is_old_use(source, node, rename):
            yield node


def is_old_use(source: Source, node: ast.expr, rename: Rename) -> bool:
    outer = source.parents.get(node)
    if rename.attribute:
        return isinstance(outer, ast.Attribute) and outer.attr == rename.attribute
    return isinstance(outer, ast.Call) and outer.func is node
