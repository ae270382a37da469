"""Where a class of the user's gives an attribute its value, and what registers its layers."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.source.edits import Edit, with_import, wrapped
from surefit.source.reading import Source, dotted, targets


@dataclass(frozen=True, slots=True)
class AttributeAssignment:
    """`self.mask = ...` in a class."""

    source: Source
    statement: ast.Assign | ast.AnnAssign
    owner: str

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)


def attribute_assignments(
    case: Case, owners: tuple[str, ...], name: str
) -> list[AttributeAssignment]:
    """In the first of these classes that has any; where none has, in every class."""
    every = [
        AttributeAssignment(source, node, definition.name)
        for source, definition in case.recording.every(ast.ClassDef)
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and any(dotted(target) == f"self.{name}" for target in targets(node))
    ]
    for owner in owners:
        inside = [assigned for assigned in every if assigned.owner == owner]
        if inside:
            return inside
    return every


def registered_in(container: str, source: Source, value: ast.expr) -> Edit:
    """`nn.ModuleList(...)` around a list, with `nn` as the file itself writes it."""
    for node in source.every(ast.expr):
        if isinstance(node, ast.Name | ast.Attribute) and source.imported(node) == "torch.nn":
            return wrapped(source, value, f"{source.segment(node)}.{container}(", ")")
    edit = wrapped(source, value, f"{container}(", ")")
    return with_import(edit, source, "torch.nn", container)
