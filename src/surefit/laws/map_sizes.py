"""How the sides of a map changed on its way through a network: what halved it, what rounded."""

from dataclasses import dataclass
from itertools import takewhile

from surefit.doctor.words import times
from surefit.laws.ways import operation, shape, steps_back, way_back
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind


@dataclass(frozen=True, slots=True)
class SideChange:
    """An operation that made the sides of a map smaller or larger."""

    producer: Producer
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def name(self) -> str:
        return operation(self.producer)

    @property
    def words(self) -> str:
        return f"`{self.name}` rounds {times(self.before)} to {times(self.after)}"

    @property
    def slides(self) -> bool:
        """A window goes over the map: a convolution or a pooling."""
        return self.name.startswith("conv") or "pool" in self.name

    @property
    def factor(self) -> int:
        """By how much it makes them smaller; 1 where it only takes off an edge."""
        pairs = zip(self.before, self.after, strict=True)
        return max((round(old / new) for old, new in pairs if new), default=1)

    @property
    def rounds(self) -> bool:
        """A side was no multiple of the factor, and the rest of it is lost."""
        return self.factor > 1 and self.slides and any(side % self.factor for side in self.before)

    @property
    def takes_off_an_edge(self) -> bool:
        smaller = any(new < old for old, new in zip(self.before, self.after, strict=True))
        return self.factor == 1 and smaller and self.slides

    @property
    def grows_to(self) -> tuple[int, ...]:
        """What going up by whole steps would have given; nothing where it makes them smaller."""
        pairs = list(zip(self.before, self.after, strict=True))
        steps = {-(-new // old) for old, new in pairs if old}
        step = steps.pop() if len(steps) == 1 else 1
        return tuple(old * step for old in self.before) if step > 1 else ()


def side_changes(lineage: Lineage, rank: int) -> list[SideChange]:
    """Newest first, back to the map that the network was given."""
    of_rank = takewhile(lambda step: len(step.before) == rank, steps_back(lineage))
    changes = [SideChange(step.producer, step.before[2:], step.after[2:]) for step in of_rank]
    return [change for change in changes if change.before != change.after]


def first_map(lineage: Lineage, rank: int) -> Producer | None:
    """The map that the network was given."""
    maps = list(takewhile(lambda producer: len(shape(producer)) == rank, way_back(lineage)))
    return maps[-1] if maps else None


def sizes_written(lineage: Lineage, sides: tuple[int, ...]) -> list[Producer]:
    """Literals of the user's, on one line, that are these sizes; none where there are several such
    lines."""
    literals = [
        producer
        for producer in lineage.all
        if producer.kind is ProducerKind.LITERAL
        and type(producer.value.scalar) is int
        and producer.value.scalar in sides
    ]
    unique = {(producer.place, producer.span): producer for producer in literals}
    one_line = len({producer.place for producer in unique.values()}) == 1
    every = {producer.value.scalar for producer in unique.values()} == set(sides)
    return list(unique.values()) if one_line and every else []
