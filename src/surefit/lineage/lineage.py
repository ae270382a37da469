"""The user's expressions that one value came through, and the queries that pick one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from surefit.lineage.producers import PASSING, Input, Producer, ProducerKind, Way
from surefit.lineage.properties import Property

ROLE_WAYS = (Way.ITEM, Way.ATTRIBUTE, Way.SIBLING)


@dataclass(frozen=True, slots=True)
class Construction:
    """The call that made an object, and what its arguments are, by name."""

    call: Producer
    arguments: Mapping[str, Producer]


@dataclass(frozen=True)
class Lineage:
    """What one value came through; `graph` may hold producers of other values, too."""

    graph: Mapping[int, Producer]
    root: tuple[Input, ...]
    """The producers that the value is from; several where rows of a batch were recognised."""
    ended: str = ""
    """Why it stops where it does, or empty."""
    others: frozenset[int] = field(default=frozenset())

    @cached_property
    def all(self) -> tuple[Producer, ...]:
        """Every producer that the value leads back to, newest first, libraries' and names, too."""
        waiting = [one.serial for one in self.root]
        met: dict[int, Producer] = {}
        for serial in waiting:
            producer = self.graph.get(serial)
            if producer is None or serial in met:
                continue
            met[serial] = producer
            waiting += [one.serial for one in producer.inputs if one.way is not Way.CONTROL]
        return tuple(sorted(met.values(), key=lambda one: -one.serial))

    @property
    def producers(self) -> tuple[Producer, ...]:
        """The user's own expressions, newest first; names and the like are left out."""
        return tuple(one for one in self.all if one.own and one.kind not in PASSING)

    def inputs(self, producer: Producer) -> Iterator[tuple[Input, Producer]]:
        """What an expression got values from, and how."""
        for one in producer.inputs:
            before = self.graph.get(one.serial)
            if before is not None and one.way is not Way.CONTROL:
                yield one, before

    def birth(self, of: Property) -> Producer | None:
        """The first of the user's expressions that has a property while none of its inputs does."""
        born = None
        met: set[int] = set()
        waiting = [one.serial for one in self.root]
        for serial in waiting:
            producer = self.graph.get(serial)
            if producer is None or serial in met:
                continue
            met.add(serial)
            before = [inner for _, inner in self.inputs(producer)]
            having = [inner for inner in before if of.holds(inner.value)]
            unknown = [inner for inner in before if self.says_nothing(inner, of)]
            if of.holds(producer.value) and not having and producer.own:
                passing = producer.kind in PASSING and bool(before)
                if not passing and (born is None or producer.serial < born.serial):
                    born = producer
            waiting += [inner.serial for inner in (having or unknown or before)]
        return born

    def says_nothing(self, producer: Producer, of: Property) -> bool:
        return of.holds(producer.value) is None

    def role(self) -> Producer | None:
        """Where the value becomes a label, a mask, a column: the newest item or attribute with a
        name, and of that the expression that is put in, not the whole display; else the argument
        by which it is handed to a library."""
        for one in self.root:
            if one.way in ROLE_WAYS and has_name(one) and one.serial in self.graph:
                return self.graph[one.serial]
        for producer in self.all:
            for one, before in self.inputs(producer):
                if one.way in ROLE_WAYS and has_name(one) and before.own:
                    return before
        arguments = (one for one in self.root if one.way is Way.ARGUMENT and has_name(one))
        return next((self.graph[one.serial] for one in arguments if one.serial in self.graph), None)

    def handed_over(self) -> Producer | None:
        """The user's last expression before the value goes to a library."""
        arguments = (one.serial for one in self.root if one.way is Way.ARGUMENT)
        argument = next((self.graph[one] for one in arguments if one in self.graph), None)
        return argument or next(iter(self.producers), None)

    def constructor(self) -> Construction | None:
        """Of an object: the call that made it and what it was given."""
        for producer in self.all:
            if producer.kind is ProducerKind.CALL and producer.own:
                given = {
                    one.name: before
                    for one, before in self.inputs(producer)
                    if one.way is Way.ARGUMENT
                }
                return Construction(producer, given)
        return None

    def written(self) -> Producer | None:
        """The literal, the setting or the file that a number or a text goes back to."""
        ends = (ProducerKind.LITERAL, ProducerKind.SETTING, ProducerKind.FILE)
        return next((one for one in self.all if one.kind in ends), None)

    def through(self, file: str, line: int) -> tuple[Producer, ...]:
        """Producers that stand on a line, newest first."""
        return tuple(
            one
            for one in self.all
            if one.own
            and one.place.file == file
            and (one.place.line or 0) <= line <= (one.place.end_line or one.place.line or 0)
        )


def has_name(one: Input) -> bool:
    """A key, a column, a keyword: a number alone is no role."""
    return one.name.replace("_", "a").isalnum() and not one.name.isdigit()
