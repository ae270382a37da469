"""The way of a tensor back through the operations that made it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.lineage.properties import shape_of

PARAMETER = "Parameter"
CONTAINERS = ("tuple", "list", "generator", "dict", "Size", "PackedSequence")
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell")
RESHAPES = ("view", "reshape", "flatten")
STACKS = ("stack", "default_collate", "collate")
JOINS = ("cat", "concat", "concatenate", "hstack", "vstack")
CREATES = (
    *("zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange", "eye"),
    *("new_zeros", "new_ones", "new_full", "new_empty"),
)
"""Create a tensor of the sizes that they are given."""
REPEATS = ("expand", "repeat")
OPERATIONS = (ProducerKind.CALL, ProducerKind.OPERATION, ProducerKind.MUTATION)
MOST_STEPS = 400


def operation(producer: Producer) -> str:
    """`view` of `x.view(-1, 64)`, `gru` of a layer's own operation; empty for a name, an index."""
    return producer.name.rpartition(".")[2] if producer.kind in OPERATIONS else ""


def shape(producer: Producer) -> tuple[int, ...]:
    return shape_of(producer.value) or ()


def is_weight(producer: Producer) -> bool:
    return producer.value.kind == PARAMETER


def taken(lineage: Lineage, producer: Producer) -> list[Producer]:
    """What an expression took, without weights of layers and plain numbers."""
    inputs = [before for _, before in lineage.inputs(producer) if not is_weight(before)]
    return [before for before in inputs if before.value.scalar is None]


def tensors(lineage: Lineage, producer: Producer) -> list[Producer]:
    """Tensors and arrays among that."""
    return [before for before in taken(lineage, producer) if before.value.shape is not None]


def way(
    lineage: Lineage, before: Callable[[Producer], Iterable[Producer]], at: Producer | None = None
) -> Iterator[Producer]:
    """Newest first: from a value, or an expression, to the first of what `before` says of each."""
    at, met = at or lineage.last_producer(), set[int]()
    while at is not None and at.serial not in met and len(met) < MOST_STEPS:
        met.add(at.serial)
        yield at
        at = next(iter(before(at)), None)


def way_back(lineage: Lineage) -> Iterator[Producer]:
    """From a value to the data: along the first tensor that each expression took, or the newest
    one where they have the rank of the result."""

    def before(at: Producer) -> list[Producer]:
        every = tensors(lineage, at)
        alike = [inner for inner in every if len(shape(inner)) == len(shape(at))]
        same = [inner for inner in every if inner.value.identity == at.value.identity != 0]
        return [*same, *alike, *every]

    return way(lineage, before)


def history(lineage: Lineage, number: int) -> list[Producer]:
    """Along the first tensor of each expression that has a size on some axis, to the expression
    that gave it; members of tuples and lists are followed without knowing theirs."""

    def before(at: Producer) -> list[Producer]:
        every = taken(lineage, at)
        having = [inner for inner in every if number in shape(inner)]
        return [*having, *(inner for inner in every if inner.value.kind in CONTAINERS)]

    return list(way(lineage, before))


def users(path: list[Producer], producer: Producer) -> Producer:
    """The user's expression that an operation of a library belongs to: the oldest one after it."""
    newer = reversed(path[: path.index(producer) + 1])
    return next((known for known in newer if known.own), producer)


@dataclass(frozen=True, slots=True)
class Step:
    """An expression on the way, and the shape of what it took."""

    producer: Producer
    before: tuple[int, ...]

    @property
    def after(self) -> tuple[int, ...]:
        return shape(self.producer)


def steps_back(lineage: Lineage) -> list[Step]:
    """Expressions that changed the shape, newest first."""
    return [
        Step(after, shape(before))
        for after, before in pairwise(way_back(lineage))
        if shape(after) != shape(before)
    ]


def learned(lineage: Lineage) -> bool:
    """A layer with weights took part: it is no plain data."""
    return any(is_weight(producer) for producer in lineage.all)


def created_by(lineage: Lineage, weight: Producer) -> Producer | None:
    """The user's call that created the layer which holds a weight."""
    for link, holder in lineage.inputs(weight):
        if link.way is Way.ATTRIBUTE and holder.kind is ProducerKind.CALL:
            return holder
    return None


def constructor_of_weights(lineage: Lineage, producer: Producer) -> Producer | None:
    """The same of the layer whose weights an operation took."""
    weights = (weight for _, weight in lineage.inputs(producer) if is_weight(weight))
    created = (created_by(lineage, weight) for weight in weights)
    return next((call for call in created if call is not None and call.own), None)


def regroups_rows(lineage: Lineage, number: int, width: int) -> tuple[Producer, int] | None:
    """A reshape to other rows than it was given, and these rows; each of them has the width."""
    for producer in history(lineage, number):
        before = [shape(inner) for inner in taken(lineage, producer) if shape(inner)]
        if operation(producer) not in RESHAPES or not producer.own or not before:
            continue
        rows = before[0][0]
        if rows != shape(producer)[0] and prod(before[0][1:]) == width:
            return producer, rows
    return None
