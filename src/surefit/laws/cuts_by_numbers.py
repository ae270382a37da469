"""Where a loss takes in a plain number of a tensor that had a graph: `recon + kl.item()`."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.step_calls import calls_named
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.source.reading import called

TAKES_NUMBERS = ("item", "tolist", "float", "detach", "numpy")


def cut_on_the_way(case: Case, step: int) -> Expression | None:
    """The one call on the lineage of the loss that gives a value without the graph it had."""
    losses = [
        case.expression(source, backward.call.func.value)
        for source in case.recording.sources()
        for backward in calls_named(source, "backward")
        if isinstance(backward.call.func, ast.Attribute) and not backward.call.args
    ]
    if len(losses) != 1:
        return None
    lineage = case.lineage_at(losses[0], step)
    cuts = {
        f"{producer.place}{producer.span}": producer for producer in cutting_calls(lineage, case)
    }
    if len(cuts) != 1:
        return None
    (cut,) = cuts.values()
    return Expression(cut.place, cut.span, cut.text)


def cutting_calls(lineage: Lineage, case: Case) -> Iterator[Producer]:
    for producer in lineage.producers:
        node = case.node(producer) if producer.kind is ProducerKind.CALL else None
        if not isinstance(node, ast.Call) or called(node) not in TAKES_NUMBERS:
            continue
        before = [inner.value for _, inner in lineage.inputs(producer)]
        if any(value.requires_grad for value in before) and not producer.value.requires_grad:
            yield producer
