"""Where a number that a call is given, or that a check reads, is written."""

import ast
from collections.abc import Iterator

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Written
from surefit.laws.case import Case
from surefit.laws.written_numbers import given_as
from surefit.lineage.producers import Producer, ProducerKind

ENDS = (ProducerKind.LITERAL, ProducerKind.SETTING)


def number_given(case: Case, name: str, number: int) -> Written | None:
    """The one literal or setting of this value that the user's failing line gives to a call, or
    reads under a name; under this name where the call is given several such numbers."""
    if case.own is None:
        return None
    node, source = case.node(case.own), case.source(case.own)
    exact: dict[str, Written] = {}
    named: dict[str, Written] = {}
    for text, part in read_in(node, name):
        if isinstance(part, ast.Constant) and source is not None and part.value == number:
            exact[text] = case.expression(source, part)
            continue
        lineage = case.lineage(Operand(value=Value(text, ""), name=text, frame=case.number))
        for literal in (found for found in lineage.all if is_number(found, number)):
            exact[f"{literal.place}{literal.span}"] = literal
        for literal in given_as(lineage, (name.rpartition(".")[2],)):
            if is_number(literal, number):
                named[f"{literal.place}{literal.span}"] = literal
    for found in (exact, named):
        if len(found) == 1:
            return next(iter(found.values()))
    return None


def read_in(node: ast.expr | None, name: str) -> Iterator[tuple[str, ast.expr]]:
    """What a call is given; of another expression, the name itself."""
    if isinstance(node, ast.Call):
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield ast.unparse(part), part
    else:
        yield name, ast.Name(name)


def is_number(producer: Producer, number: int) -> bool:
    return producer.kind in ENDS and producer.value.scalar == number
