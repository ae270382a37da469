"""The user's expressions that one value came through, and the queries that pick one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.lineage.producers import PASSING, Input, Producer, ProducerKind, Way
from surefit.lineage.properties import Property

BOUNDARIES = (Way.CONTENT, Way.ROW, Way.SIBLING, Way.OPERATION)
OF_ROWS = (Way.ROW, Way.SIBLING)
WRITTEN = (ProducerKind.LITERAL, ProducerKind.SETTING, ProducerKind.FILE)
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
    budget: str = ""
    """What was not recorded in the whole run, for want of memory or time."""

    @cached_property
    def all(self) -> tuple[Producer, ...]:
        """Every producer that the value leads back to, newest first: libraries' and names, too."""
        return tuple(sorted(self.nearest(), key=lambda producer: -producer.serial))

    @property
    def ended(self) -> str:
        """Why it stops where it does although it came from somewhere, or empty."""
        for producer in self.all:
            if producer.ended:
                return producer.ended
            if any(link.serial not in self.graph for link in producer.inputs):
                return self.budget or "too many expressions are involved to follow all of them"
        return ""

    @property
    def producers(self) -> tuple[Producer, ...]:
        """The user's own expressions, newest first; names and the like are left out."""
        return tuple(
            producer for producer in self.all if producer.own and producer.kind not in PASSING
        )

    @property
    def expressions(self) -> tuple[Producer, ...]:
        """The same, each expression once: its newest evaluation."""
        newest: dict[tuple[Place, str], Producer] = {}
        for producer in self.producers:
            newest.setdefault((producer.place, producer.text), producer)
        return tuple(newest.values())

    def inputs(self, producer: Producer) -> Iterator[tuple[Input, Producer]]:
        """What an expression got values from, and how."""
        for link in producer.inputs:
            before = self.graph.get(link.serial)
            itself = link.serial == producer.serial
            if before is not None and not itself and link.way is not Way.CONTROL:
                yield link, before

    def birth(self, of: Property) -> Producer | None:
        """The first of the user's expressions that has a property while none of its inputs does; of
        several the one with the fewest expressions between itself and the value. Where it is born
        inside a library, the user's expression that called it. Of a column, the tables that it came
        from are looked at in that column."""
        met: set[tuple[int, str, str]] = set()
        calling: Producer | None = None
        rows = of.of_rows or of
        changed = [link for link in self.root if link.way is Way.MUTATED]
        waiting = [
            (link.serial, "", rows if link.way in OF_ROWS else of) for link in changed or self.root
        ]
        for serial, column, wanted in waiting:
            producer = self.graph.get(serial)
            key = serial, column, wanted.words
            if producer is None or key in met:
                continue
            met.add(key)
            before = [
                Before(
                    inner,
                    column_of(producer, inner, column),
                    across(producer, link, wanted),
                    link.way,
                )
                for link, inner in self.inputs(producer)
            ]
            value = part(producer, column)
            before = as_it_was(producer, before)
            having = bearing(wanted.measure(value), before)
            unknown = [earlier for earlier in before if earlier.holds is None]
            is_passing = producer.kind in PASSING and bool(before)
            if wanted.holds(value) and producer.own and not is_passing:
                if not having:
                    return producer
                if calling is None and not any(earlier.producer.own for earlier in having):
                    calling = producer
            followed = having or unknown
            waiting += [
                (earlier.producer.serial, earlier.column, earlier.wanted) for earlier in followed
            ]
        return calling

    def of_shape(self, shape: tuple[int, ...]) -> "Lineage":
        """The lineage of the first values of a shape: of the rows of a batch."""
        waiting, met, found = list(self.root), set[int](), list[Input]()
        for one in waiting:
            producer = self.graph.get(one.serial)
            if producer is None or one.serial in met:
                continue
            met.add(one.serial)
            if producer.value.shape == shape:
                found.append(one)
            else:
                waiting += [source for source, _ in self.inputs(producer)]
        return Lineage(self.graph, tuple(found), self.ended)

    def role(self) -> Producer | None:
        """Where the value becomes a label, a mask, a column: the newest item or attribute with a
        name, and of that the expression that is put in, not the whole display; else the argument
        by which it is handed to a library."""
        for link in self.root:
            if link.way in ROLE_WAYS and has_name(link) and link.serial in self.graph:
                return self.graph[link.serial]
        for producer in self.all:
            for link, before in self.inputs(producer):
                if link.way in ROLE_WAYS and has_name(link) and before.own:
                    return before
        arguments = (link for link in self.root if link.way is Way.ARGUMENT and has_name(link))
        return next(
            (self.graph[link.serial] for link in arguments if link.serial in self.graph), None
        )

    def handed_over(self) -> Producer | None:
        """The user's last expression before the value goes to a library: the argument of the call
        that fails, or what is on the user's side where a library begins."""
        for link in self.root:
            if link.way is Way.ARGUMENT and link.serial in self.graph:
                return self.graph[link.serial]
        beyond = [
            before
            for producer in self.all
            for link, before in self.inputs(producer)
            if before.own and (link.way in BOUNDARIES or not producer.own)
        ]
        beyond += [self.graph[link.serial] for link in self.root if link.way in BOUNDARIES]
        own = [link for link in beyond if link.own] or list(self.producers)
        return max(own, key=lambda link: link.serial, default=None)

    def last_producer(self) -> Producer | None:
        serials = (link.serial for link in self.root if link.serial in self.graph)
        return next((self.graph[serial] for serial in serials), None)

    def constructor(self) -> Construction | None:
        """Of an object: the call that made it and what it was given, by parameter."""
        first = self.last_producer()
        calls = [
            producer
            for producer in self.all
            if producer.own
            and producer.kind in (ProducerKind.CALL, ProducerKind.FILE)
            and first is not None
            and producer.value.identity == first.value.identity
        ]
        if not calls:
            return None
        arguments = {
            link.name: before
            for link, before in self.inputs(calls[-1])
            if link.way is Way.ARGUMENT and link.name
        }
        return Construction(calls[-1], arguments)

    def written(self) -> Producer | None:
        """The literal, the setting or the file that a number or a text goes back to; one that is
        equal to it before others."""
        first = self.last_producer()
        if first is None or first.value.scalar is None:
            return None
        ends = [producer for producer in self.nearest() if producer.kind in WRITTEN]
        equal = [producer for producer in ends if producer.value.scalar == first.value.scalar]
        return next(iter(equal or ends), None)

    def nearest(self) -> tuple[Producer, ...]:
        """Every producer, by how many expressions stand between it and the value."""
        waiting = list(
            dict.fromkeys(link.serial for link in self.root if link.serial in self.graph)
        )
        met = set(waiting)
        for serial in waiting:
            fresh = [
                before.serial
                for _, before in self.inputs(self.graph[serial])
                if before.serial not in met
            ]
            met.update(fresh)
            waiting += fresh
        return tuple(self.graph[serial] for serial in waiting)


def has_name(link: Input) -> bool:
    """A key, a column, a keyword: a number alone is no role."""
    return link.name.replace("_", "a").isalnum() and not link.name.isdigit()


def column_of(producer: Producer, before: Producer, column: str) -> str:
    """The column of a table that matters, one expression further back."""
    reads = producer.kind is ProducerKind.OPERATOR and producer.text.endswith("]")
    name = producer.name if reads and producer.name in before.value.members else column
    return name if name in before.value.members else ""


def part(producer: Producer, column: str) -> Value:
    """The value, or that of the column of it which matters."""
    return producer.value.members.get(column, producer.value) if column else producer.value


@dataclass(frozen=True, slots=True)
class Before:
    """An input on the way to a birth, and what is looked for in it."""

    producer: Producer
    column: str
    wanted: Property
    way: Way

    @property
    def value(self) -> Value:
        return part(self.producer, self.column)

    @property
    def holds(self) -> bool | None:
        return self.wanted.holds(self.value)


def across(producer: Producer, link: Input, wanted: Property) -> Property:
    """Where rows become a batch, what a row must have."""
    is_batch = link.way in OF_ROWS or (
        producer.kind is ProducerKind.OPERATION and producer.name == "stack"
    )
    return wanted.of_rows or wanted if is_batch else wanted


def as_it_was(producer: Producer, before: list[Before]) -> list[Before]:
    """An object that was changed in place is described as it is now, also where it was made: what
    was put in comes before it, and the change before the name that it was bound to."""
    changed = [earlier for earlier in before if earlier.way is Way.MUTATED]
    if producer.kind is not ProducerKind.MUTATION:
        return changed or before
    put_in = [earlier for earlier in before if earlier not in changed]
    return put_in if any(earlier.holds for earlier in put_in) else before


def bearing(number: float | None, before: list[Before]) -> list[Before]:
    """Inputs that have the property; of a number those with the same one, where there are any."""
    having = [earlier for earlier in before if earlier.holds]
    same = [
        earlier
        for earlier in having
        if number is not None and earlier.wanted.measure(earlier.value) == number
    ]
    return same or having
