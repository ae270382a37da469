"""The user's expressions that one value came through, and the queries that pick one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

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
        return tuple(sorted(self.nearest(), key=lambda one: -one.serial))

    @property
    def ended(self) -> str:
        """Why it stops where it does although it came from somewhere, or empty."""
        for producer in self.all:
            if producer.ended:
                return producer.ended
            if any(one.serial not in self.graph for one in producer.inputs):
                return self.budget or "too many expressions are involved to follow all of them"
        return ""

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
        """The first of the user's expressions that has a property while none of its inputs does; of
        several the one with the fewest expressions between itself and the value. Of a column, the
        tables that it came from are looked at in that column."""
        met: set[tuple[int, str, str]] = set()
        rows = of.of_rows or of
        waiting = [(one.serial, "", rows if one.way in OF_ROWS else of) for one in self.root]
        for serial, column, wanted in waiting:
            producer = self.graph.get(serial)
            key = serial, column, wanted.words
            if producer is None or key in met:
                continue
            met.add(key)
            before = [
                Before(inner, column_of(producer, inner, column), across(producer, one, wanted))
                for one, inner in self.inputs(producer)
            ]
            value = part(producer, column)
            having = bearing(wanted.measure(value), before)
            unknown = [one for one in before if one.holds is None]
            is_passing = producer.kind in PASSING and bool(before)
            if wanted.holds(value) and not having and producer.own and not is_passing:
                return producer
            followed = having or unknown
            waiting += [(one.producer.serial, one.column, one.wanted) for one in followed]
        return None

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
        """The user's last expression before the value goes to a library: the argument of the call
        that fails, or what is on the user's side where a library begins."""
        for one in self.root:
            if one.way is Way.ARGUMENT and one.serial in self.graph:
                return self.graph[one.serial]
        beyond = [
            before
            for producer in self.all
            for one, before in self.inputs(producer)
            if before.own and (one.way in BOUNDARIES or not producer.own)
        ]
        beyond += [self.graph[one.serial] for one in self.root if one.way in BOUNDARIES]
        own = [one for one in beyond if one.own] or list(self.producers)
        return max(own, key=lambda one: one.serial, default=None)

    def constructor(self) -> Construction | None:
        """Of an object: the call that made it and what it was given, by parameter."""
        first = next(
            (self.graph[one.serial] for one in self.root if one.serial in self.graph), None
        )
        made = [
            one
            for one in self.all
            if one.own
            and one.kind in (ProducerKind.CALL, ProducerKind.FILE)
            and first is not None
            and one.value.identity == first.value.identity
        ]
        if not made:
            return None
        given = {
            one.name: before
            for one, before in self.inputs(made[-1])
            if one.way is Way.ARGUMENT and one.name
        }
        return Construction(made[-1], given)

    def written(self) -> Producer | None:
        """The literal, the setting or the file that a number or a text goes back to; one that is
        equal to it before others."""
        first = next(
            (self.graph[one.serial] for one in self.root if one.serial in self.graph), None
        )
        if first is None or first.value.scalar is None:
            return None
        ends = [one for one in self.nearest() if one.kind in WRITTEN]
        equal = [one for one in ends if one.value.scalar == first.value.scalar]
        return next(iter(equal or ends), None)

    def nearest(self) -> tuple[Producer, ...]:
        """Every producer, by how many expressions stand between it and the value."""
        waiting = list(dict.fromkeys(one.serial for one in self.root if one.serial in self.graph))
        met = set(waiting)
        for serial in waiting:
            fresh = [
                before.serial
                for _, before in self.inputs(self.graph[serial])
                if before.serial not in met
            ]
            met.update(fresh)
            waiting += fresh
        return tuple(self.graph[one] for one in waiting)

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

    @property
    def value(self) -> Value:
        return part(self.producer, self.column)

    @property
    def holds(self) -> bool | None:
        return self.wanted.holds(self.value)


def across(producer: Producer, one: Input, wanted: Property) -> Property:
    """Where rows become a batch, what a row must have."""
    is_batch = one.way in OF_ROWS or (
        producer.kind is ProducerKind.OPERATION and producer.name == "stack"
    )
    return wanted.of_rows or wanted if is_batch else wanted


def bearing(number: float | None, before: list[Before]) -> list[Before]:
    """Inputs that have the property; of a number those with the same one, where there are any."""
    having = [one for one in before if one.holds]
    same = [one for one in having if number is not None and one.wanted.measure(one.value) == number]
    return same or having
