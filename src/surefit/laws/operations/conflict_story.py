"""Where the two sides of a conflict come from, and which of them is alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand
from surefit.laws.case import NO_LINEAGE, Case
from surefit.laws.contracts.operations import DemandBroken
from surefit.laws.layers.ways import WidthSource, sized_by
from surefit.laws.operations.demands import Party
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import PASSING, Input, Producer, ProducerKind, Way
from surefit.lineage.properties import size


@dataclass(frozen=True, slots=True)
class SizeOrigin:
    """One of two sizes that disagree: what has it, where it was born, what else has it."""

    side: Party
    name: str
    """In backticks."""
    operand: Operand | None
    birth: Producer | None = None
    layer: WidthSource | None = None
    """The layer that gave it."""
    literal: Producer | None = None
    """The only number in the source that it goes back to."""
    shared: tuple[str, ...] = ()
    """Other tensors of the user's frames that have the same number."""


def origins(broken: DemandBroken, case: Case) -> list[SizeOrigin]:
    sides = [side for side in (broken.conflict.side, broken.conflict.other) if side is not None]
    return [origin_of(broken, side, case) for side in sides]


def origin_of(broken: DemandBroken, side: Party, case: Case) -> SizeOrigin:
    operand, name = broken.operand(side), broken.name(side)
    if operand is None or side.axis is None or not operand.shape:
        return SizeOrigin(side, name, operand)
    axis = side.axis - len(operand.shape)
    lineage = case.lineage(operand) if operand.frame is not None else NO_LINEAGE
    if not lineage.root:
        lineage = lineage_of_item(broken, side, operand, case)
    birth = lineage.birth(of=size(side.axis, side.number)) or lineage.birth(
        of=size(axis, side.number)
    )
    return SizeOrigin(
        side,
        name,
        operand,
        birth,
        sized_by(lineage, axis),
        literal_of(lineage, birth, side.number) if birth is not None else None,
        tuple(sharing(broken, side, case)),
    )


def lineage_of_item(broken: DemandBroken, side: Party, operand: Operand, case: Case) -> Lineage:
    """Of an item of a list, from the lineage of the list."""
    whole = broken.call.operands.get(side.argument.partition("[")[0])
    lineage = case.lineage(whole) if whole is not None and whole is not operand else NO_LINEAGE
    for producer in lineage.all:
        if producer.value.identity == operand.value.identity != 0:
            return Lineage(lineage.graph, (Input(serial=producer.serial, way=Way.SAME_OBJECT),))
    return NO_LINEAGE


def literal_of(lineage: Lineage, birth: Producer, number: int) -> Producer | None:
    """The number that the expression in which a size was born was given: written in it, or passed
    to it by a name. A number that is computed with further back has it by coincidence."""
    waiting = [before for _, before in lineage.inputs(birth)]
    literals: dict[str, Producer] = {}
    for producer in waiting:
        if producer.kind is ProducerKind.LITERAL and producer.value.scalar == number:
            literals[f"{producer.place}{producer.span}"] = producer
        if producer.kind in PASSING or producer.kind is ProducerKind.DISPLAY:
            waiting += [before for _, before in lineage.inputs(producer) if before not in waiting]
    return next(iter(literals.values())) if len(literals) == 1 else None


def sharing(broken: DemandBroken, side: Party, case: Case) -> Iterator[str]:
    """Names of other tensors with this size, and of the same one on another axis; weights are not
    told."""
    operand = broken.operand(side)
    operands = [operand.value for operand in broken.call.operands.values()]
    met: set[int] = {0}
    for value in (*(case.own.values if case.own is not None else ()), *operands):
        same = operand is not None and value.identity == operand.value.identity
        if value.identity not in met and has_size(value, side.number, side.axis if same else None):
            met.add(value.identity)
            yield value.text


def has_size(value: Value, number: int, but: int | None) -> bool:
    sizes = [size for axis, size in enumerate(value.shape or ()) if axis != but]
    return value.kind != "Parameter" and number in sizes


def alone(known: Sequence[SizeOrigin]) -> SizeOrigin | None:
    """The one of two whose size nothing else has."""
    single = [origin for origin in known if not origin.shared]
    return single[0] if len(known) == 2 and len(single) == 1 else None
