"""What a row is given under one name, in the function that gives it another."""

import ast

from surefit.doctor.violations import Expression, Written
from surefit.laws.case import Case


def entry_beside(case: Case, beside: Written | None, name: str) -> Expression | None:
    """`{"x": x, "title": title}` or `item["title"] = title`, in the function of what is given
    beside it."""
    node, source = case.node(beside), case.source(beside)
    if node is None or source is None:
        return None
    for inner in ast.walk(source.scope_of(node)):
        match inner:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == name:
                        return case.expression(source, value)
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=key))], value=value
            ) if key == name:
                return case.expression(source, value)
    return None
