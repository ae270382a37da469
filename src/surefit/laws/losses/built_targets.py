"""Where the targets of a loss were built, also where a library computes the loss."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import NO_LINEAGE, Case
from surefit.laws.losses.loss_calls import ends_before_last, slice_of, starts_at_one
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.source.constants import number
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

COPIES = {"Tensor": "{}.clone()", "list": "list({})", "ndarray": "{}.copy()"}


def lineage_of_targets(case: Case, name: str, place: Place | None) -> Lineage:
    """Of what the loss of this name is given in the first step, by a call from this line."""
    return case.lineage_of_target(name, place) if place is not None else NO_LINEAGE


def place_of_targets(lineage: Lineage) -> Place | None:
    """Where the user last has them in hand, before a library takes over."""
    handed = lineage.handed_over()
    return handed.place if handed is not None else None


def ignored_at(lineage: Lineage, label: int) -> Place | None:
    """The nearest of the user's expressions that writes the label which a loss ignores."""
    for producer in lineage.nearest():
        if producer.own and producer.value.scalar == label and producer.span is not None:
            return producer.place
    return None


@dataclass(frozen=True, slots=True)
class ShiftedTargets:
    """An expression that moves tokens by one position, and the same without that."""

    place: Place
    unshifted: Edit


def shift_of_targets(case: Case, lineage: Lineage) -> ShiftedTargets | None:
    """The nearest one: `ids[1:]`, by itself or in what fills it up to the old length."""
    for producer in lineage.nearest():
        node, source = case.node(producer), case.source(producer)
        if not producer.own or node is None or source is None:
            continue
        base = moved_by_one(source, node)
        if base is not None:
            return shift_at(case, lineage, producer, node, base, source)
    return None


def moved_by_one(source: Source, node: ast.expr) -> ast.expr | None:
    """`ids` of `ids[1:]`, `ids.roll(-1)`, `np.roll(ids, -1)`."""
    parts = slice_of(node)
    if parts is not None:
        return parts[0] if starts_at_one(parts[1]) else None
    if not isinstance(node, ast.Call) or called(node) != "roll":
        return None
    given = [*node.args, *(key.value for key in node.keywords if key.arg == "shifts")]
    if not any(number(source, value) == -1 for value in given):
        return None
    if number(source, given[0]) is None:
        return given[0]
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def shift_at(
    case: Case,
    lineage: Lineage,
    producer: Producer,
    node: ast.expr,
    base: ast.expr,
    source: Source,
) -> ShiftedTargets:
    text = source.segment(base)
    place = Place(source.file, node.lineno, node.end_lineno)
    statement = source.statement_of(node)
    match statement:
        case ast.Assign(targets=[ast.Subscript() as target]) if statement.value is node:
            into = slice_of(target)
            if into is not None and ends_before_last(into[1]):
                whole = f"{source.segment(into[0])}[:]"
                return ShiftedTargets(
                    place, both(replaced(source, target, whole), replaced(source, node, text))
                )
    outer = filled_up(case, lineage, producer, node, source)
    copy = COPIES.get(producer.value.kind, "{}").format(text)
    return ShiftedTargets(place, replaced(source, outer, copy))


def filled_up(
    case: Case, lineage: Lineage, producer: Producer, node: ast.expr, source: Source
) -> ast.expr:
    """The expression around it that fills it up by what is missing: `cat([ids[1:], end])`."""
    longer = sizes(producer)
    around = [outer for outer in expressions_around(source, node) if joins(outer)]
    spans = {known.span: known for known in lineage.all if known.own}
    for outer in around:
        known = spans.get(case.expression(source, outer).span)
        if known is not None and longer and sizes(known) == longer + 1:
            return outer
    return node


def sizes(producer: Producer) -> int:
    """Its last size."""
    value = producer.value
    return value.shape[-1] if value.shape else value.length or 0


def expressions_around(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    for outer in source.up(node):
        if not isinstance(outer, ast.expr):
            return
        yield outer


def joins(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add)
    return isinstance(node, ast.Call) and called(node) in (
        *("cat", "concat", "concatenate", "hstack", "append", "pad"),
    )
