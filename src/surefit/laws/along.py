"""The expressions of a lineage at which a remedy can be tried, from birth to hand-over."""

from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import Property

ONLY_NAMES = (ProducerKind.NAME, ProducerKind.PARAMETER, ProducerKind.ATTRIBUTE)
MOST = 4


def along(lineage: Lineage, of: Property) -> tuple[Producer, ...]:
    """The birth of a property first, then the user's later expressions that have it, each once;
    names are left out. Of many the first two and the last ones: a change near the birth reaches
    every use, one near the hand-over changes nothing else."""
    birth = lineage.birth(of=of)
    having = [
        producer
        for producer in reversed(lineage.all)
        if producer.own
        and producer.span is not None
        and producer.kind not in ONLY_NAMES
        and of.holds(producer.value)
        and (birth is None or producer.serial >= birth.serial)
    ]
    ordered = [*([birth] if birth is not None else []), *having]
    distinct = list({(str(known.place), known.span): known for known in ordered}.values())
    if len(distinct) <= MOST:
        return tuple(distinct)
    return (*distinct[:2], *distinct[2 - MOST :])
