"""What cut a loss from its graph: an operation, or the reading of a plain number."""

import ast

from surefit.doctor.graph_stories import (
    COPYING,
    DETACHING,
    FROM_NUMBERS,
    TO_NUMBERS,
    Cut,
    LostGraph,
)
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.training.rounds import innermost
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.source.reading import called

WRITTEN = {"__float__": "float", "__array__": "numpy"}
"""What the source calls the operation."""
FEW = 4
"""Operations between a number and a loss that is nothing but that number."""


def what_cut(lost: LostGraph) -> Cut | None:
    """The nearest operation that lost a graph while graphs were recorded; if no tensor leads back
    to one, the line that read the loss's number out of one."""
    if lost.cuts:
        cut = lost.cuts[0]
        known = cut.name in (*DETACHING, *COPYING) or not cut.floating
        return cut if cut.enabled and known else None
    if lost.numbers and lost.fresh:
        return lost.numbers[-1]
    copies = [cut for cut in lost.fresh if cut.name in (*COPYING, *FROM_NUMBERS)]
    plain = len(copies) == 1 and copies[0].elements == 1 and lost.operations <= FEW
    return copies[0] if plain and not lost.frozen else None


def number_reading(lineage: Lineage) -> Producer | None:
    """The newest expression that read a plain number out of a tensor with a graph."""
    for producer in lineage.all:
        name = producer.name.rpartition(".")[2]
        tensors = [before.value for _, before in lineage.inputs(producer)]
        if name in TO_NUMBERS and producer.own and any(value.requires_grad for value in tensors):
            return producer
    return None


def expression_of(case: Case, cut: Cut) -> Expression | None:
    """On the user's line that was being run; the one call or attribute of that name."""
    here = innermost(case.recording, cut.stack)
    if here is None or not here.is_simple:
        return None
    name = WRITTEN.get(cut.name, cut.name)
    fits = [node for node in ast.walk(here.statement) if is_named(node, name)]
    whole = getattr(here.statement, "value", None) if not cut.floating else None
    node = fits[0] if len(fits) == 1 else whole
    return case.expression(here.source, node) if isinstance(node, ast.expr) else None


def is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call):
        return called(node) == name
    return isinstance(node, ast.Attribute) and node.attr == name == "data"
