"""Weights while no optimizer has stepped: whether the user's own code moves them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import ref

from surefit.doctor.findings import Place
from surefit.observe.inside import origins
from surefit.observe.inside.training import readable, samples

MOST_WATCHED = 8
MOST_NODES = 20_000
FIRST = 2
"""The backward pass at which samples are taken; by then a first step would have been."""


@dataclass(slots=True)
class ComparedTensor:
    """A few elements of a parameter, as they were at an early backward pass."""

    alive: Callable[[], Any]
    before: Any
    moved: bool = False

    def compare(self) -> None:
        tensor = self.alive()
        self.moved |= differs(self.before, sample(tensor) if tensor is not None else None)


class Unstepped:
    """Parameters with a gradient, compared until the first step of an optimizer."""

    def __init__(self) -> None:
        self.watched: list[ComparedTensor] = []
        self.compared = 0
        self.begun = 0
        self.optimizers = 0
        self.made_at: Place | None = None

    @property
    def moved(self) -> int:
        return sum(watched.moved for watched in self.watched)

    def is_due(self, passes: int) -> bool:
        """The second pass, and powers of two after it."""
        return passes >= FIRST and not passes & (passes - 1)

    def begin(self, passes: int, loss: Any) -> None:
        """Before the backward pass: what its graph leads to."""
        if not self.begun and passes >= FIRST:
            self.begun = passes
            self.watched = _watched(getattr(loss, "grad_fn", None))

    def look(self, passes: int) -> None:
        self._count_optimizers()
        if passes <= self.begun:
            return
        self.compared = passes - self.begun
        for watched in self.watched:
            watched.compare()

    def _count_optimizers(self) -> None:
        alive = list(origins.alive(readable.torch().optim.Optimizer))
        self.optimizers = len(alive)
        places = [origins.made_at(optimizer) for optimizer in alive]
        self.made_at = next((place for place in reversed(places) if place), self.made_at)


def _watched(graph: Any) -> list[ComparedTensor]:
    leaves = list(_leaves(graph)) if graph is not None else []
    chosen = leaves[:: max(1, len(leaves) // MOST_WATCHED)][:MOST_WATCHED]
    pairs = [(tensor, sample(tensor)) for tensor in chosen]
    return [ComparedTensor(ref(tensor), before) for tensor, before in pairs if before is not None]


def _leaves(graph: Any) -> Iterator[Any]:
    """Tensors that a backward pass gives gradients to."""
    waiting, met = [graph], {id(graph)}
    for node in waiting:
        variable = getattr(node, "variable", None)
        if variable is not None:
            yield variable
        for below, _ in node.next_functions:
            if below is not None and id(below) not in met and len(met) < MOST_NODES:
                met.add(id(below))
                waiting.append(below)


def sample(tensor: Any) -> Any:
    plain = readable.plain(tensor)
    spots = samples.spots(plain, 0) if plain is not None else None
    return spots.view(plain).clone() if spots is not None else None


def differs(before: Any, now: Any) -> bool:
    """Also where it is gone, or was replaced by another kind: then nothing can be said."""
    if now is None or before is None:
        return True
    if now.shape != before.shape or now.dtype != before.dtype or now.device != before.device:
        return True
    return not readable.torch().equal(now, before)
