"""Tensors of the user's failing expression: what each part of it evaluated to."""

import ast
from dataclasses import replace

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, in_code
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.values.frame_numbers import tensor_in
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.source.reading import Source, called

KEEPS_SHAPE = ("softmax", "dropout", "log_softmax", "masked_fill", "float")
"""Functions whose result has the shape of their first argument."""


def fails_in_own_code(case: Case) -> bool:
    """The user's innermost frame is the innermost of all: torch's own functions have none."""
    return bool(case.frames) and case.frames[-1].own


def operand_in(case: Case, source: Source, node: ast.expr, *, recorded: bool = True) -> Operand:
    """A part of the failing expression of the user's innermost frame. Where the frame has no name
    for it, a second run tells its shape (`recorded`); the shape is None where neither does."""
    text, use = ast.unparse(node), case.expression(source, node)
    name = in_code(use.text, code(text[:57] + "..."))
    plain = Operand(value=Value(text, ""), name=name, frame=case.number, use=use)
    value = tensor_in(case.own, node)
    if value is None and recorded:
        producer = newest(case.lineage(plain))
        value = replace(producer.value, text=text) if producer is not None else None
    return replace(plain, value=value) if value is not None and value.shape is not None else plain


def newest(lineage: Lineage) -> Producer | None:
    """The expression that the value is from, where it is a single one."""
    roots = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    return roots[0] if len(roots) == 1 else None


def result_is(case: Case, use: Expression, shape: tuple[int | None, ...]) -> ValuesAt | None:
    """That the failing expression evaluates to this shape, where its statement gives it a name."""
    node, source = case.node(use), case.source(use.place)
    if node is None or source is None:
        return None
    match source.statement_of(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_kept(value, node):
            return ValuesAt(use.place, (Wanted(name, shape),), after=True)
    return None


def is_kept(value: ast.expr, node: ast.expr) -> bool:
    """What is assigned has the shape of an expression inside it."""
    while value is not node:
        if not isinstance(value, ast.Call) or called(value) not in KEEPS_SHAPE:
            return False
        receiver = value.func.value if isinstance(value.func, ast.Attribute) else None
        inside = [part for part in (*value.args[:1], receiver) if part and node in ast.walk(part)]
        if not inside:
            return False
        value = inside[0]
    return True
