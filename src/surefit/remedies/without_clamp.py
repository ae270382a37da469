"""An expression without the clamp around it."""

import ast

from surefit.doctor.observations import Operation
from surefit.laws.operations.operation_calls import computed_on
from surefit.source.edits import Edit, binds_tightly, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, called, targets

CLAMPS = (
    *("clamp", "clamp_", "clip", "clip_", "hardtanh", "hardtanh_", "relu6", "hardsigmoid"),
    *("minimum", "maximum", "fmin", "fmax", "min", "max"),
)


LAYERS = {
    "hardtanh": ("Hardtanh", "ReLU6"),
    "relu6": ("ReLU6",),
    "hardsigmoid": ("Hardsigmoid",),
}


def clamp_call(source: Source, clamp: Operation) -> ast.Call | None:
    """The call in the user's own line; None where there are several, or a library makes it."""
    line = clamp.place.line if clamp.place else None
    found = [
        call for call in source.calls_named(*CLAMPS) if line in (call.lineno, call.func.end_lineno)
    ]
    return found[0] if clamp.own and len(found) == 1 else None


def clamp_layer(source: Source, clamp: Operation) -> ast.Call | None:
    """The one line that makes a layer of this kind, where such a layer clamps."""
    names = [f"torch.nn.{name}" for name in LAYERS.get(clamp.name, ())]
    found = [] if clamp.own else list(source.calls_of(*names))
    return found[0] if len(found) == 1 else None


def held_back(source: Source, call: ast.Call) -> ast.expr | None:
    """What goes through the clamp."""
    return computed_on(source, call) if called(call) in CLAMPS else None


def without_clamp(source: Source, call: ast.Call) -> Edit | None:
    """The call becomes what it was given; a statement that did nothing else goes."""
    given = held_back(source, call)
    statement = source.statement_of(call)
    if given is None:
        return None
    if does_nothing_else(source, statement, call, given) and not shares_lines(source, statement):
        return removed(source, statement)
    text = source.segment(given)
    alone = isinstance(source.parents[call], ast.Assign | ast.Return | ast.Call | ast.keyword)
    return replaced(source, call, text if alone or binds_tightly(source, given) else f"({text})")


def does_nothing_else(source: Source, statement: ast.stmt, call: ast.Call, given: ast.expr) -> bool:
    if isinstance(statement, ast.Expr):
        return statement.value is call
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not call:
        return False
    return [source.segment(one) for one in targets(statement)] == [source.segment(given)]
