"""Where a class of the user's gives an attribute its value, and how a file writes `torch.nn`."""

import ast

from surefit.doctor.observations import Script
from surefit.doctor.violations import Expression, Written
from surefit.laws.case import Case
from surefit.source.reading import Source, dotted, targets


def attribute_value(case: Case, owner: str, name: str) -> Expression | None:
    """What the one statement in the class that assigns `self.name` gives it."""
    for script in case.recording.all(Script):
        source = case.source(script.file)
        for definition in source.every(ast.ClassDef) if source else ():
            if source is None or definition.name != owner:
                continue
            values = [
                node.value
                for node in ast.walk(definition)
                if isinstance(node, ast.Assign | ast.AnnAssign)
                and any(dotted(target) == f"self.{name}" for target in targets(node))
            ]
            value = values[0] if len(values) == 1 else None
            return case.expression(source, value) if value is not None else None
    return None


def torch_nn_in(case: Case, written: Written) -> str:
    """`nn` or `torch.nn`, as the file itself writes it; empty where it does not."""
    source = case.source(written.place)
    return written_nn(source) if source is not None else ""


def written_nn(source: Source) -> str:
    for node in source.every(ast.expr):
        if isinstance(node, ast.Name | ast.Attribute) and source.imported(node) == "torch.nn":
            return source.segment(node)
    return ""
