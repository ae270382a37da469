"""What goes into `sqrt`, `log` and the like kept away from where their slope is infinite."""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.gradient_births import ForwardValue
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.operations.operation_calls import computed_on
from surefit.laws.training.rounds import innermost
from surefit.remedies.change import Change
from surefit.remedies.few_elements import of_few_elements
from surefit.source.edits import appended
from surefit.source.reading import Source, called

AT_LEAST = ".clamp_min(1e-12)"
INSIDE = ".clamp(-1 + 1e-6, 1 - 1e-6)"
BOUNDS = {
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "reciprocal", "sqrt_"), AT_LEAST),
    **dict.fromkeys(("acos", "asin", "arccos", "arcsin", "atanh", "arctanh"), INSIDE),
    **dict.fromkeys(("pow", "__pow__", "float_power"), AT_LEAST),
    **dict.fromkeys(("div", "__truediv__", "true_divide", "__rtruediv__"), AT_LEAST),
}
"""Operation -> the bounds to put on what it is given; of a division, on what it divides by."""
DIVISIONS = ("div", "__truediv__", "true_divide", "__rtruediv__")
OPERATORS: dict[str, type[ast.operator]] = {
    **dict.fromkeys(DIVISIONS, ast.Div),
    **dict.fromkeys(("pow", "__pow__"), ast.Pow),
}


def kept_finite(case: Case, value: ForwardValue, must: Condition | None) -> Iterator[Remedy]:
    """All that can be done to an operation so that it has a finite value and slope."""
    yield from of_few_elements(case, value, must)
    yield from filter(None, [away_from_the_pole(case, value, must)])


def away_from_the_pole(case: Case, value: ForwardValue, must: Condition | None) -> Remedy | None:
    """None where the line does not have the operation just once."""
    here = innermost(case.recording, value.stack)
    bounds = BOUNDS.get(value.name)
    if here is None or bounds is None or not here.is_simple:
        return None
    fits = [
        operand
        for node in ast.walk(here.statement)
        if (operand := operand_of(here.source, node, value.name)) is not None
    ]
    if len(fits) != 1:
        return None
    text = here.source.segment(fits[0])
    words = f"Keep {code(text)} away from 0: {code(bounds)}."
    if bounds == INSIDE:
        words = f"Keep {code(text)} inside of -1 and 1: {code(bounds)}."
    return Change(to=appended(here.source, fits[0], bounds), words=words, must=must)


def operand_of(source: Source, node: ast.AST, name: str) -> ast.expr | None:
    """What to put bounds on."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS.get(name, ast.MatMult)):
        whole = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if name not in DIVISIONS and whole:
            return None  # `x ** 2` has a slope everywhere
        return node.right if name in DIVISIONS else node.left
    if not isinstance(node, ast.Call) or called(node) != name or name in DIVISIONS:
        return None
    return computed_on(source, node)
