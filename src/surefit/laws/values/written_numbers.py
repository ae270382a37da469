"""Where the user wrote a number that sizes a model: how many classes, rows or features it has."""

import ast
from collections.abc import Collection, Iterator

from surefit.doctor.violations import Expression, Operand
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.lineage.properties import equals

CLASSES = ("num_labels", "num_classes", "n_classes", "n_labels", "out_features", "out_channels")
"""Arguments of models and layers that say how many classes there are."""
VOCABULARY = ("vocab_size", "vocabulary_size", "n_vocab", "num_tokens", "num_embeddings")
TYPES = ("type_vocab_size",)
POSITIONS = (
    *("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions"),
    *("max_target_positions", "max_seq_len", "max_sequence_length", "block_size"),
)


def written_in_model(
    case: Case, number: int, names: Collection[str] | None = None
) -> Producer | None:
    """The one literal or setting of this value that the models of a crash were given, under one of
    these names if there are any; None where there are several."""
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
    for number, frame in enumerate(case.frames):
        for value in frame.values:
            if value.layer is not None and value.identity not in known:
                known.add(value.identity)
                yield case.lineage(Operand(value=value, name=value.text, frame=number))


def given_as(lineage: Lineage, names: Collection[str] | None) -> Iterator[Producer]:
    """What arguments of these names, or of any, go back to."""
    for producer in lineage.all:
        for source, _ in lineage.inputs(producer):
            if source.way is Way.ARGUMENT and (names is None or source.name in names):
                literal = Lineage(lineage.graph, (source,)).written()
                if literal is not None:
                    yield literal


def config_of(case: Case) -> Producer | None:
    """The user's call that created the configuration of a model of the crash; None for a model
    that was loaded."""
    for lineage in lineages_of_models(case):
        for producer in lineage.all:
            is_config = producer.value.kind.endswith("Config") and producer.own
            if is_config and producer.kind is ProducerKind.CALL:
                return producer if "from_pretrained" not in producer.text else None
    return None


def called_with(case: Case, number: int, names: Collection[str]) -> Expression | None:
    """The first literal of this value that a call of the user's has under one of these names."""
    for source in case.recording.sources():
        for call in source.every(ast.Call):
            for keyword in call.keywords:
                literal = keyword.value
                is_it = isinstance(literal, ast.Constant) and literal.value == number
                if keyword.arg in names and is_it:
                    return case.expression(source, literal)
    return None


def written_in(lineage: Lineage, number: int) -> Producer | None:
    """The only literal of this value that something came through; without a literal, the only
    expression that computes it. None where there are several: equal numbers can be chance."""
    same = equals(number)
    first = [
        producer
        for producer in lineage.all
        if producer.own
        and same.holds(producer.value)
        and not any(same.holds(before.value) for _, before in lineage.inputs(producer))
    ]
    places = {(str(producer.place), producer.text): producer for producer in first}
    literals = [each for each in places.values() if each.kind is ProducerKind.LITERAL]
    chosen = literals or list(places.values())
    return chosen[0] if len(chosen) == 1 else None
