"""One map from labels to ids for all splits."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.laws.rows.label_maps import MapsPerSplit
from surefit.remedies.change import Operator
from surefit.source.edits import inserted_before, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called

NAME = "encoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMap(Operator):
    """The second map gives way to the first: an encoder transforms and is not fitted again, a
    dictionary is read by its name."""

    maps: MapsPerSplit
    words: str

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        first, second = self.maps.training, self.maps.held_out
        if first.source is not second.source or first.statement.lineno > second.statement.lineno:
            return None
        source, node, second_node = first.source, first.node, second.node
        if source.scope_of(node) is not source.scope_of(second_node):
            return None
        if isinstance(node, ast.DictComp) and isinstance(first.statement, ast.Assign):
            target = first.statement.targets[0]
            same = first.statement.value is node and isinstance(target, ast.Name)
            return replaced(source, second_node, source.segment(target)) if same else None
        if isinstance(node, ast.Call) and isinstance(second_node, ast.Call):
            return self.of_encoders(source, node, second_node)
        return None

    def of_encoders(self, source: Source, call: ast.Call, second: ast.Call) -> Edit | None:
        if called(call) != "fit_transform" or not isinstance(call.func, ast.Attribute):
            return None
        owner, again = call.func.value, second.func
        if not isinstance(again, ast.Attribute):
            return None
        if isinstance(owner, ast.Name):  # the same encoder, fitted twice
            return replaced(source, again, f"{owner.id}.transform")
        statement = self.maps.training.statement
        taken = {node.id for node in source.every(ast.Name)}
        name = next(free for free in (NAME, f"label_{NAME}", f"shared_{NAME}") if free not in taken)
        if not isinstance(owner, ast.Call) or shares_lines(source, statement):
            return None
        return all_of(
            (
                inserted_before(source, statement, f"{name} = {source.segment(owner)}"),
                replaced(source, owner, name),
                replaced(source, again, f"{name}.transform"),
            )
        )
