"""The user's expression for an operation that an experiment names."""

import ast

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import OperationSeen
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.reading import Source, called


def line_of(case: Case, place: Place) -> Expression:
    """The statement at a line, as it is written."""
    source = case.source(place)
    statement = source.statement_at(place.line) if source is not None and place.line else None
    text = " ".join(source.segment(statement).split()) if source and statement else ""
    return Expression(place, None, text if len(text) <= 100 else "")


def call_of(operation: OperationSeen, case: Case) -> Expression | None:
    """`x.view(...)`, where the line has just one such call."""
    return only_call(case, operation.place, operation.name)


def constructor_of(operation: OperationSeen, case: Case) -> Expression | None:
    """`nn.LSTM(...)`, the call that created the module which runs the operation."""
    return only_call(case, operation.created_at, operation.kind)


def only_call(case: Case, place: Place | None, name: str) -> Expression | None:
    source = case.source(place)
    if source is None or place is None or place.line is None:
        return None
    calls = [call for call in calls_near(source, place.line) if called(call) == name]
    return case.expression(source, calls[0]) if len(calls) == 1 else None


def calls_near(source: Source, line: int) -> list[ast.Call]:
    """Of the statement at a line."""
    statement = source.statement_at(line)
    if statement is None or hasattr(statement, "body"):
        return list(source.calls_in(line))
    return [node for node in ast.walk(statement) if isinstance(node, ast.Call)]


def computed_on(source: Source, call: ast.Call) -> ast.expr | None:
    """The first argument of a function of torch's, the owner of a method."""
    if source.imported(call.func).startswith("torch"):
        return source.argument(call, "input", 0)
    return call.func.value if isinstance(call.func, ast.Attribute) else None
