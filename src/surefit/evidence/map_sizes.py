"""How the sides of a map changed on its way through a network: what halved it, what rounded."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from surefit.doctor.observations import Operation
from surefit.evidence.failed_operations import Failure

PARAMETER = "parameter"


def slides(operation: Operation) -> bool:
    """A window goes over the map: a convolution or a pooling."""
    return operation.name.startswith("conv") or "pool" in operation.name


@dataclass(frozen=True, slots=True)
class Change:
    """An operation that made the sides of a map smaller or larger."""

    operation: Operation
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def factor(self) -> int:
        """By how much it makes them smaller; 1 where it only takes off an edge."""
        pairs = zip(self.before, self.after, strict=True)
        return max((round(old / new) for old, new in pairs if new), default=1)

    @property
    def rounds(self) -> bool:
        """A side was no multiple of the factor, and the rest of it is lost."""
        if self.factor < 2 or not slides(self.operation):
            return False
        return any(side % self.factor for side in self.before)

    @property
    def takes_off_an_edge(self) -> bool:
        pairs = zip(self.before, self.after, strict=True)
        smaller = any(new < old for old, new in pairs)
        return self.factor == 1 and smaller and slides(self.operation)

    @property
    def grows_to(self) -> tuple[int, ...]:
        """What going up by whole steps would have given; nothing where it makes them smaller."""
        pairs = list(zip(self.before, self.after, strict=True))
        steps = {-(-new // old) for old, new in pairs if old}
        step = steps.pop() if len(steps) == 1 else 1
        return tuple(old * step for old in self.before) if step > 1 else ()


def sides(operation: Operation) -> tuple[int, ...]:
    return operation.shape[2:]


def way_back(failure: Failure, operand: Operation) -> Iterator[Operation]:
    """From a map to the one that the network was given, along the newest of those taken."""
    at, rank = operand, len(operand.shape)
    for _ in range(len(failure.before) + 1):
        yield at
        maps = [
            one for one in failure.taken(at) if one.name != PARAMETER and len(one.shape) == rank
        ]
        if not maps:
            return
        at = max(maps, key=lambda one: one.serial)


def changes(failure: Failure, operand: Operation) -> list[Change]:
    """Newest first."""
    way = list(way_back(failure, operand))
    return [
        Change(after, sides(before), sides(after))
        for after, before in pairwise(way)
        if sides(before) != sides(after)
    ]


def multiple_of(found: list[Change]) -> int:
    """What a side must be a multiple of so that nothing is rounded on the way."""
    return prod(one.factor for one in found if one.factor > 1)
