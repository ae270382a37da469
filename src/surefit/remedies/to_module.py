"""A lambda as a function of the module, which other processes find by its name."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.laws.case import Case
from surefit.source.edits import inserted_before, replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaToModule:
    """`lambda rows: f(rows)` becomes a `def` before the statement of the module it stands in."""

    source: Source
    line: int
    name: str
    must: Condition | None = None
    words: str = "Make a function of the module of it: a worker finds that by its name."
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        source = self.source
        nodes = [node for node in source.every(ast.Lambda) if node.lineno == self.line]
        if len(nodes) != 1:
            return None
        node = nodes[0]
        top = [outer for outer in source.up(node) if isinstance(outer, ast.stmt)][-1]
        known = {name.id for name in source.every(ast.Name)} | set(source.definitions)
        name = self.name if self.name not in known else f"{self.name}_of_loader"
        parameters = source.segment(node.args) or ast.unparse(node.args)
        text = f"def {name}({parameters}):\n    return {ast.unparse(node.body)}\n\n"
        try:
            edit = inserted_before(source, top, text)
        except ValueError:
            return None
        return both(edit, replaced(source, node, name))
