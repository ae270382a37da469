"""Settings by their name: the user's call that passes an argument under the name of an operand."""

import ast

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression
from surefit.laws.case import Case


def passed_as(text: str, value: Value, case: Case) -> Expression | None:
    """`total_steps=len(loader)` for the operand `self.total_steps`, where just one call of the
    user's has such an argument, and it is not written as another number."""
    name = text.rpartition(".")[2]
    passed = [
        (source, keyword)
        for source in case.recording.sources()
        for keyword in source.every(ast.keyword)
        if keyword.arg == name and name.isidentifier()
    ]
    if len(passed) != 1:
        return None
    source, keyword = passed[0]
    if isinstance(keyword.value, ast.Constant) and keyword.value.value != value.scalar:
        return None
    expression = case.expression(source, keyword.value)
    return Expression(expression.place, expression.span, f"{name}={expression.text}")
