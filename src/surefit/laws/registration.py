"""Where a class of the user's gives an attribute its value, and how a file writes `torch.nn`."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.violations import Expression, Written
from surefit.laws.case import Case
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
        for script in case.recording.all(Script)
        if (source := case.source(script.file)) is not None
        for definition in source.every(ast.ClassDef)
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and any(dotted(target) == f"self.{name}" for target in targets(node))
    ]
    for owner in owners:
        inside = [assigned for assigned in every if assigned.owner == owner]
        if inside:
            return inside
    return every


def attribute_value(case: Case, owner: str, name: str) -> Expression | None:
    """What the one statement that assigns `self.name` gives it."""
    assigned = attribute_assignments(case, (owner,), name)
    value = assigned[0].statement.value if len(assigned) == 1 else None
    return case.expression(assigned[0].source, value) if value is not None else None


def torch_nn_in(case: Case, written: Written) -> str:
    """`nn` or `torch.nn`, as the file itself writes it; empty where it does not."""
    source = case.source(written.place)
    return written_nn(source) if source is not None else ""


def written_nn(source: Source) -> str:
    for node in source.every(ast.expr):
        if isinstance(node, ast.Name | ast.Attribute) and source.imported(node) == "torch.nn":
            return source.segment(node)
    return ""
