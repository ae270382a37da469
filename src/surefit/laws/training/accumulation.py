"""How the user's source puts several backward passes into one step: `if (i + 1) % n == 0`."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.source.reading import Source, dotted


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A step that is taken in every n-th round of a loop."""

    count: str
    """As the source writes n: `accum`, `args.accumulate`, `8`."""
    divides: bool
    """n, or another number that is made of it, is divided by somewhere."""


def accumulation_at(case: Case, stepped: Place, backward: Place) -> Accumulation | None:
    """None where the step does not depend on a remainder, or stands in another file."""
    source = case.source(stepped)
    if source is None or stepped.line is None or stepped.file != backward.file:
        return None
    statement = source.statement_at(stepped.line)
    for outer in source.up(statement) if statement is not None else ():
        if isinstance(outer, ast.If):
            count = remainder_of(outer.test)
            if count is not None:
                text = source.segment(count)
                return Accumulation(text, divides(source, count))
        if isinstance(outer, ast.FunctionDef):
            break
    return None


def remainder_of(test: ast.expr) -> ast.expr | None:
    """`n` of `(i + 1) % n == 0`."""
    for node in ast.walk(test):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return node.right
    return None


def divides(source: Source, count: ast.expr) -> bool:
    """Something is divided by the number, also where it has another name in this file: a source
    that divides anything by it is not accused."""
    names = {dotted(count).rpartition(".")[2]} - {""}
    value = count.value if isinstance(count, ast.Constant) else None
    for node in source.every(ast.BinOp):
        if isinstance(node.op, ast.Div):
            right = node.right
            if isinstance(right, ast.Constant) and right.value == value and value is not None:
                return True
            last = dotted(right).rpartition(".")[2]
            if last in names and isinstance(node.op, ast.Div):
                return True
    for change in source.every(ast.AugAssign):
        last = dotted(change.value).rpartition(".")[2]
        if isinstance(change.op, ast.Div) and last in names:
            return True
    return False
