"""Through which expressions a tensor came to have a size: back along what has the size, too."""

from collections.abc import Iterator
from math import prod

from surefit.doctor.observations import Value
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import Property, shape_of

PARAMETER = "Parameter"
CONTAINERS = ("tuple", "list", "generator", "dict", "Size", "PackedSequence")
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell")
RESHAPES = ("view", "reshape", "flatten")
JOINS = ("cat", "concat", "concatenate")
CREATES = (
    *("zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange", "eye"),
    *("new_zeros", "new_ones", "new_full", "new_empty"),
)
"""Create a tensor of the sizes that they are given."""
REPEATS = ("expand", "repeat")
MOST_STEPS = 400


def sized(number: int) -> Property:
    """Has the size along some axis: operations move axes."""

    def holds(value: Value) -> bool | None:
        shape = shape_of(value)
        return number in shape if shape is not None else None

    return Property(f"has an axis of {number:,}", holds)


def history(lineage: Lineage, number: int) -> list[Producer]:
    """Newest first, along the first tensor of each expression that has the size, to the expression
    that gave it; members of tuples and lists are followed without knowing theirs."""
    wanted = sized(number)
    roots = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    at = roots[0] if roots else None
    path: list[Producer] = []
    while at is not None and len(path) < MOST_STEPS and at not in path:
        path.append(at)
        before = list(tensors(lineage, at))
        having = [inner for inner in before if wanted.holds(inner.value)]
        others = [inner for inner in before if inner.value.kind in CONTAINERS]
        at = next(iter([*having, *others]), None)
    return path


def tensors(lineage: Lineage, producer: Producer) -> Iterator[Producer]:
    """What an expression took, without weights of layers and plain numbers."""
    for _, before in lineage.inputs(producer):
        if before.value.kind != PARAMETER and before.value.scalar is None:
            yield before


def regroups_rows(lineage: Lineage, number: int, width: int) -> tuple[Producer, int] | None:
    """A reshape to other rows than it was given, and these rows; each of them has the width."""
    for producer in history(lineage, number):
        before = [shape(inner) for inner in tensors(lineage, producer) if shape(inner)]
        if operation(producer) not in RESHAPES or not producer.own or not before:
            continue
        rows = before[0][0]
        if rows != shape(producer)[0] and prod(before[0][1:]) == width:
            return producer, rows
    return None


def shape(producer: Producer) -> tuple[int, ...]:
    return producer.value.shape or ()


def operation(producer: Producer) -> str:
    """`view` of `x.view(-1, 64)`, `gru` of a layer's own operation; empty for a name."""
    kinds = (ProducerKind.CALL, ProducerKind.OPERATION, ProducerKind.MUTATION)
    return producer.name.rpartition(".")[2] if producer.kind in kinds else ""


def users(path: list[Producer], producer: Producer) -> Producer:
    """The user's expression that an operation of a library belongs to: the oldest one after it."""
    at = path.index(producer)
    own = [newer for newer in reversed(path[: at + 1]) if newer.own]
    return own[0] if own else producer


def constructor_of_weights(lineage: Lineage, producer: Producer) -> Producer | None:
    """The user's call that created the layer whose weights an operation took."""
    for _, weight in lineage.inputs(producer):
        if weight.value.kind == PARAMETER:
            for _, holder in lineage.inputs(weight):
                if holder.kind is ProducerKind.CALL and holder.own:
                    return holder
    return None
