"""The layer that gave a tensor the size of an axis, and where that size was chosen."""

from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.layers.layer_tables import GIVES, declared_by
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.lineage.ways import (
    JOINS,
    constructor_of_weights,
    created_by,
    is_weight,
    operation,
    shape,
    tensors,
    way,
)


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
    value = lineage.last_producer()
    if value is None or len(shape(value)) < -axis:
        return None
    length = shape(value)[axis]
    for at in way(
        lineage, lambda at: [inner for inner in tensors(lineage, at) if length in shape(inner)]
    ):
        weights = [inner for _, inner in lineage.inputs(at) if is_weight(inner)]
        weights = [inner for inner in weights if len(shape(inner)) > 1]
        if operation(at) in JOINS:
            return None
        if weights:
            having = [weight for weight in weights if length in shape(weight)]
            gives = having and is_its_width(at, value, axis, length)
            return of_weight(lineage, having[-1]) if gives else None
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
    holder = created_by(lineage, weight)
    if holder is None:
        return None
    layer = holder.value.layer
    kind = layer.kind if layer is not None else holder.value.kind
    return WidthSource(kind, holder, tuple(chosen_at(lineage, holder, *GIVES.get(kind, ("", -1)))))


def creator(lineage: Lineage, operated: Producer) -> Written | None:
    """The user's call that created the layer whose weights an operation took."""
    made = constructor_of_weights(lineage, operated)
    layer = made.value.layer if made is not None else None
    return made if layer is not None and layer.kind in GIVES else None


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
