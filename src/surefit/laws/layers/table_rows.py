"""Where the number of rows of a table comes from: its constructor, and each expression that handed
the number on."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Layer
from surefit.doctor.violations import Operand
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Input, Producer, ProducerKind, Way
from surefit.lineage.properties import equals
from surefit.source.reading import called

ROWS = ("num_embeddings", "0")
"""The argument of an embedding that says how many rows it has."""
NOT_WRITTEN = (ProducerKind.PARAMETER, ProducerKind.SETTING, ProducerKind.FILE)


@dataclass(frozen=True, slots=True)
class TableRows:
    """`nn.Embedding(n_items, dim)` in the user's own source."""

    call: Producer
    sites: tuple[Producer, ...]
    """Expressions for the number of rows, from the constructor's own argument outwards; the last
    is where the number was written or computed."""
    graph: Lineage

    @property
    def argument(self) -> Producer:
        return self.sites[0]

    @property
    def birth(self) -> Producer:
        return self.sites[-1]

    def handed_in(self, case: Case) -> Producer:
        """The outermost of them that stands in a call or is a default: a number that is assigned to
        a name can mean other things, too."""
        inside = [site for site in self.sites if not is_assigned(case, site)]
        return inside[-1] if inside else self.argument

    def of(self, producer: Producer) -> Lineage:
        return Lineage(self.graph.graph, (Input(serial=producer.serial, way=Way.SAME_OBJECT),))


def rows_of(case: Case, layer: Layer | None, rows: int) -> TableRows | None:
    """Of a table that the user's own code creates."""
    for lineage in lineages_of(case, layer) if layer is not None else ():
        call = constructor(case, lineage, layer.kind) if layer is not None else None
        inputs = lineage.inputs(call) if call is not None else ()
        given = {source.name: inner for source, inner in inputs if source.way is Way.ARGUMENT}
        first = next((given[name] for name in ROWS if name in given), None)
        if call is None or first is None:
            continue
        number = Lineage(lineage.graph, (Input(serial=first.serial, way=Way.ARGUMENT),))
        same = equals(rows)
        sites = [
            producer
            for producer in number.all
            if producer.own and producer.kind not in NOT_WRITTEN and same.holds(producer.value)
        ]
        if sites:
            return TableRows(call, tuple(sites), lineage)
    return None


def lineages_of(case: Case, layer: Layer) -> Iterator[Lineage]:
    """Of the module itself, as frames of the crash hold it, innermost first."""
    for number, frame in reversed(list(enumerate(case.frames))):
        for value in frame.values:
            if value.layer is not None and identity(value.layer) == identity(layer):
                yield case.lineage(Operand(value=value, name=value.text, frame=number))


def identity(layer: Layer) -> tuple[object, ...]:
    """A value has no path: by its class, its shapes and the line that created it."""
    return layer.kind, layer.parameters, layer.made_at


def constructor(case: Case, lineage: Lineage, kind: str) -> Producer | None:
    """The call of its class."""
    for producer in lineage.all:
        node = case.node(producer) if producer.own else None
        if isinstance(node, ast.Call) and called(node) == kind:
            return producer
    return None


def is_assigned(case: Case, site: Producer) -> bool:
    """`ITEMS = 30`: it is all that an assignment gives a name."""
    node, source = case.node(site), case.source(site.place)
    parent = source.parents.get(node) if source is not None and node is not None else None
    return isinstance(parent, ast.Assign | ast.AnnAssign)
