"""The way of a tensor back through the operations that made it, and the layer that sized it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from surefit.doctor.violations import Written
from surefit.laws.layer_tables import GIVES, declared_by
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.lineage.properties import shape_of

PARAMETER = "Parameter"
STACKS = ("stack", "default_collate", "collate")
JOINS = ("cat", "concat", "concatenate", "hstack", "vstack")
MOST_STEPS = 400


def operation(producer: Producer) -> str:
    """`max_pool2d` for that of a library and for `F.max_pool2d(x, 2)`; a subscript has none."""
    word = producer.name if producer.kind is not ProducerKind.SUBSCRIPT else ""
    return word.rpartition(".")[2]


def shape(producer: Producer) -> tuple[int, ...]:
    return shape_of(producer.value) or ()


def is_weight(producer: Producer) -> bool:
    return producer.value.kind == PARAMETER


def tensors(lineage: Lineage, producer: Producer) -> list[Producer]:
    """Tensors and arrays that an expression took, without the weights of layers."""
    return [
        before
        for _, before in lineage.inputs(producer)
        if before.value.shape is not None and not is_weight(before)
    ]


def way_back(lineage: Lineage) -> Iterator[Producer]:
    """From a value to the data, newest first: along the first tensor that each expression took,
    or the newest one where they have the rank of the result."""
    roots = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    at, met = roots[0] if roots else None, set[int]()
    while at is not None and at.serial not in met and len(met) < MOST_STEPS:
        met.add(at.serial)
        yield at
        before = tensors(lineage, at)
        alike = [inner for inner in before if len(shape(inner)) == len(shape(at))]
        same = [inner for inner in before if inner.value.identity == at.value.identity != 0]
        at = next(iter([*same, *alike, *before]), None)


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


@dataclass(frozen=True, slots=True)
class WidthSource:
    """A layer that gave a tensor the size of one axis."""

    kind: str
    constructor: Written
    """The user's call that created it, or the library's model that it is part of."""
    chosen: tuple[Written, ...] = ()
    """Where the width that it gives is chosen: the argument of the constructor, then that of the
    function around it, and so on outwards, as long as it is used for nothing else there."""

    @property
    def by_hand(self) -> bool:
        """The user's call creates the layer itself."""
        return self.kind in GIVES


def sized_by(lineage: Lineage, axis: int) -> WidthSource | None:
    """Back from a tensor as long as the size stays, to a layer whose weight has it; `axis` is
    counted from the end. None where the size comes from a join or from the data."""
    roots = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    at, met = roots[0] if roots else None, set[int]()
    length = shape(at)[axis] if at is not None and len(shape(at)) >= -axis else None
    while at is not None and at.serial not in met and operation(at) not in JOINS:
        met.add(at.serial)
        weights = [inner for _, inner in lineage.inputs(at) if is_weight(inner)]
        weights = [inner for inner in weights if len(shape(inner)) > 1]
        if weights:
            having = [weight for weight in weights if length in shape(weight)]
            gives = having and is_its_width(at, roots[0], axis, length)
            return of_weight(lineage, having[-1]) if gives else None
        same = [inner for inner in tensors(lineage, at) if length in shape(inner)]
        at = same[0] if same else None
    return None


def is_its_width(operated: Producer, value: Producer, axis: int, length: int | None) -> bool:
    """The size is that of the channels of a convolution, or of the features of another layer; not
    a height or a width that happens to be equal."""
    result = shape(operated)
    if len(result) < 2:
        return False
    channels = operation(operated).startswith("conv")
    if channels and result == shape(value) and axis != 1 - len(result):
        return False
    return result[1 if channels else -1] == length


def of_weight(lineage: Lineage, weight: Producer) -> WidthSource | None:
    for source, holder in lineage.inputs(weight):
        if source.way is Way.ATTRIBUTE and holder.kind is ProducerKind.CALL:
            layer = holder.value.layer
            kind = layer.kind if layer is not None else holder.value.kind
            chosen = chosen_at(lineage, holder, *GIVES.get(kind, ("", -1)))
            return WidthSource(kind, holder, tuple(chosen))
    return None


def creator(lineage: Lineage, operated: Producer) -> Written | None:
    """The user's call that created the layer whose weights an operation took."""
    weights = [inner for _, inner in lineage.inputs(operated) if is_weight(inner)]
    made = of_weight(lineage, weights[0]) if weights else None
    return made.constructor if made is not None and made.by_hand else None


def chosen_at(lineage: Lineage, call: Producer, name: str, position: int) -> list[Producer]:
    """The expressions that give an argument of a call its value, from the call outwards through
    parameters of the user's functions. Ends where a parameter also is another argument."""
    arguments = {source.name: (source, inner) for source, inner in lineage.inputs(call)}
    found = arguments.get(name) or arguments.get(str(position))
    if found is None:
        return []
    places = [found[1]]
    others = [inner.text for key, (_, inner) in arguments.items() if inner is not found[1]]
    while places[-1].text not in others:  # as in `nn.Linear(width, width)`
        given = given_to_parameter(lineage, places[-1])
        if given is None:
            break
        places.append(given)
        others = []
    return places


def given_to_parameter(lineage: Lineage, place: Producer) -> Producer | None:
    """The caller's expression for a parameter, of the name of one."""
    if place.kind is ProducerKind.NAME:
        bound = [inner for source, inner in lineage.inputs(place) if source.way is Way.BINDING]
        parameters = [inner for inner in bound if inner.kind is ProducerKind.PARAMETER]
        return given_to_parameter(lineage, parameters[0]) if parameters else None
    if place.kind is not ProducerKind.PARAMETER:
        return None
    ways = (Way.ARGUMENT, Way.DEFAULT)
    given = [inner for source, inner in lineage.inputs(place) if source.way in ways]
    return given[0] if len(given) == 1 else None


def input_widths(lineage: Lineage, constructor: Producer) -> list[Producer]:
    """Where the width that a layer takes is chosen, from its constructor outwards."""
    layer = constructor.value.layer
    return chosen_at(lineage, constructor, declared_by(layer.kind) if layer else "", 0)
