"""Other members of the same object: `schema.n_items` for `schema.n_users`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind


@dataclass(frozen=True, slots=True)
class Sibling:
    """What could be written in the place of an expression, and its value."""

    at: Written
    text: str
    name: str
    value: Value


def of_the_name(lineage: Lineage, case: Case) -> tuple[Producer, str] | None:
    """`schema.n_items`, where the parameter `n_items` is given `schema.n_users`."""
    for parameter in lineage.all:
        for _, given in lineage.inputs(parameter):
            node, source, name = case.node(given), case.source(given.place), parameter.text
            if source is None or not isinstance(node, ast.Attribute) or node.attr == name:
                continue
            asked = {
                part.attr
                for other in case.recording.sources()
                for part in other.every(ast.Attribute)
            }
            if parameter.kind is ProducerKind.PARAMETER and name in asked:
                return given, f"{source.segment(node.value)}.{name}"
    return None


def entries_beside(use: Expression, case: Case) -> Iterator[Sibling]:
    """Of the mapping that the failing line looks a value up in: `batch["lengths"]`, `batch[key]`;
    where the key is a name, at the text that was given to it."""
    node, own = case.node(use), case.own
    if not isinstance(node, ast.Subscript) or own is None:
        return
    holder, asked = own.value(ast.unparse(node.value)), own.value(ast.unparse(node.slice))
    at: Written | None = use_of_key(use, node, case)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if key is None and asked is not None and isinstance(asked.scalar, str):
        key = asked.scalar
        lineage = case.lineage(Operand(value=asked, name=code(asked.text), frame=case.number))
        at = next(
            (
                producer
                for producer in lineage.all
                if producer.kind is ProducerKind.LITERAL and producer.value.scalar == key
            ),
            None,
        )
    members = holder.members if holder is not None else {}
    for name, value in members.items() if key in members else ():
        if at is not None and name != key:
            yield Sibling(at, f'"{name}"', name, value)


def use_of_key(use: Expression, node: ast.Subscript, case: Case) -> Expression | None:
    source = case.source(use.place)
    return case.expression(source, node.slice) if source is not None else None
