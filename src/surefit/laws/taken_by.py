"""The layer that takes the result of an expression."""

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.laws.layer_tables import declared_width
from surefit.laws.ways import input_widths
from surefit.laws.written_numbers import lineages_of_models
from surefit.lineage.producers import Producer, ProducerKind


def layer_taking(case: Case, width: int) -> Written | None:
    """Where the one layer of the model that was created for this width declares it."""
    found: dict[str, Producer] = {}
    for lineage in lineages_of_models(case):
        for producer in lineage.all:
            layer = producer.value.layer
            if producer.kind is not ProducerKind.CALL or layer is None or not producer.own:
                continue
            if declared_width(layer) == width:
                found |= {str(at.place): at for at in input_widths(lineage, producer)[-1:]}
    return next(iter(found.values())) if len(found) == 1 else None
