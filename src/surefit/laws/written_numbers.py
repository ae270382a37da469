"""Where the user wrote a number that sizes a model: how many classes, rows or features it has."""

from collections.abc import Collection, Iterator

from surefit.doctor.violations import Operand
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, Way

CLASSES = ("num_labels", "num_classes", "n_classes", "n_labels", "out_features", "out_channels")
"""Arguments of models and layers that say how many classes there are."""


def written_in_model(case: Case, number: int, names: Collection[str]) -> Producer | None:
    """The one literal or setting of this value that the models of a crash were given under one of
    these names; None where there are several."""
    found = {
        (str(literal.place), literal.text): literal
        for lineage in lineages_of_models(case)
        for literal in given_as(lineage, names)
        if literal.value.scalar == number
    }
    return next(iter(found.values())) if len(found) == 1 else None


def lineages_of_models(case: Case) -> Iterator[Lineage]:
    """Of the modules that the frames of a crash hold, each once."""
    known: set[int] = set()
    for number, frame in enumerate(case.crash.frames if case.crash is not None else ()):
        for value in frame.values:
            if value.layer is not None and value.identity not in known:
                known.add(value.identity)
                yield case.lineage(Operand(value=value, name=value.text, frame=number))


def given_as(lineage: Lineage, names: Collection[str]) -> Iterator[Producer]:
    """What arguments of these names go back to."""
    for producer in lineage.all:
        for source, _ in lineage.inputs(producer):
            if source.way is Way.ARGUMENT and source.name in names:
                literal = Lineage(lineage.graph, (source,)).written()
                if literal is not None:
                    yield literal
