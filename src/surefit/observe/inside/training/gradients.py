"""Gradients and updates of one optimizer step: absent, zero or not finite, and what moved.

Of each tensor a few elements are kept before the step and held against the same after it. Tensors
on a device are compared there, and the counts are read later.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.training import meant, readable, samples
from surefit.observe.inside.training.parameters import Parameter
from surefit.observe.inside.training.samples import Spots

MOST_SIZED = 8
"""Looks at which the size of a tensor's lost updates is measured."""
BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}

Held = Sequence[tuple[Any, dict[str, Any]]]
"""An optimizer's tensors in their order, each with the settings of its group."""


@dataclass(slots=True, eq=False)
class One:
    """A tensor whose elements are sampled in this step."""

    parameter: Parameter
    place: int
    """In the order of the optimizer's tensors."""
    spots: Spots


@dataclass(slots=True, eq=False)
class Alike:
    """Tensors of one dtype on one device, their samples one after the other."""

    ones: list[One]
    before: Any
    gradients: Any = None


class Look:
    """The values of one step: begun before it, completed after it. Both are called while `looking`.

    It holds samples and no tensor of the user's: a step that fails leaves it lying about.
    """

    def __init__(self, chosen: Sequence[tuple[int, Parameter]], turn: int, closure: bool) -> None:
        self.chosen = chosen
        """Places of tensors in the optimizer's order."""
        self.turn = turn
        self.closure = closure
        """Gradients are computed during the step, so they are looked at after it."""
        self.alike: list[Alike] = []

    def begin(self, held: Held) -> None:
        if not self.closure:
            self._presence(held)
        kinds: dict[tuple[Any, Any], list[One]] = {}
        for place, parameter in self.chosen:
            tensor, settings = readable.plain(held[place][0]), held[place][1]
            spots = samples.spots(tensor, self.turn) if tensor is not None else None
            if spots is None or not tensor.is_floating_point() or _at_rest(settings):
                continue
            if self.closure or _gradient(held[place][0]) is not None:
                one = One(parameter, place, spots)
                kinds.setdefault((tensor.device, tensor.dtype), []).append(one)
        for ones in kinds.values():
            alike = Alike(ones, _together(ones, lambda one: readable.plain(held[one.place][0])))
            if not self.closure:
                alike.gradients = _together(ones, lambda one: _gradient(held[one.place][0]))
            self.alike.append(alike)

    def complete(self, held: Held, state: dict[Any, Any]) -> None:
        if self.closure:
            self._presence(held)
        for alike in self.alike:
            found = _with_gradients(alike, held) if self.closure else alike
            if found is not None:
                _compare(found, held, state)

    def _presence(self, held: Held) -> None:
        kinds: dict[tuple[Any, Any], list[tuple[Parameter, Any]]] = {}
        for place, parameter in self.chosen:
            parameter.looked += 1
            gradient = held[place][0].grad
            if gradient is None:
                parameter.absent += 1
                continue
            gradient = readable.plain(gradient)
            if gradient is not None:
                values = gradient._values() if gradient.is_sparse else gradient
                kinds.setdefault((values.device, values.dtype), []).append((parameter, values))
        for (device, dtype), found in kinds.items():
            if dtype.itemsize > 1:
                _sizes(found, on_cpu=device.type == "cpu")


def _at_rest(settings: dict[str, Any]) -> bool:
    """At a rate of zero, as at the first step of a warm-up, nothing is meant to move."""
    rate = settings.get("lr")
    return type(rate) in (float, int) and rate == 0


def _gradient(held: Any) -> Any:
    """None also where it is laid out in another way than its parameter."""
    found = readable.plain(held.grad) if held.grad is not None else None
    if found is None or found.is_sparse or found.stride() != readable.plain(held).stride():
        return None
    return found


def _together(ones: list[One], tensor: Callable[[One], Any]) -> Any:
    return readable.torch().cat([one.spots.view(tensor(one)) for one in ones])


def _with_gradients(alike: Alike, held: Held) -> Alike | None:
    """Those that have one after the step, with their samples from before it."""
    kept = [_gradient(held[one.place][0]) is not None for one in alike.ones]
    ones = [one for one, has in zip(alike.ones, kept, strict=True) if has]
    if not ones:
        return None
    parts = alike.before.split([one.spots.count for one in alike.ones])
    before = [part for part, has in zip(parts, kept, strict=True) if has]
    gradients = _together(ones, lambda one: _gradient(held[one.place][0]))
    return Alike(ones, readable.torch().cat(before), gradients)


def _sizes(found: list[tuple[Parameter, Any]], on_cpu: bool) -> None:
    """Zero and not finite. On a CPU the sum of squares is many times faster than the maximum, but
    it can overflow and vanish: where it did, the values themselves are asked."""
    torch = readable.torch()
    for parameter, values in found:
        parameter.zero += not values.numel()
    found = [(parameter, values) for parameter, values in found if values.numel()]
    if not found:
        return
    norms = torch._foreach_norm([values for _, values in found], 2 if on_cpu else math.inf)
    kept = [(parameter, values if on_cpu else None) for parameter, values in found]

    def judge(sizes: list[float]) -> None:
        for (parameter, values), size in zip(kept, sizes, strict=True):
            if size == 0.0:
                parameter.zero += values is None or not values.any()
            elif not math.isfinite(size):
                parameter.not_finite += values is None or not torch.isfinite(values).all()

    readable.read(torch.stack(norms), judge)


def _compare(alike: Alike, held: Held, state: dict[Any, Any]) -> None:
    torch = readable.torch()
    after = _together(alike.ones, lambda one: readable.plain(held[one.place][0]))
    bits = getattr(torch, BITS[after.element_size()])
    pushed = alike.gradients != 0
    lost = pushed & (alike.before.view(bits) == after.view(bits))
    ends = torch.tensor(_ends(alike.ones), device=after.device)
    counts = torch.stack((pushed.cumsum(0)[ends], lost.cumsum(0)[ends]))
    here = after.device.type == "cpu"

    def fold(found: list[list[int]]) -> None:
        for one, sampled, unchanged in zip(alike.ones, *map(_steps, found), strict=True):
            one.parameter.sampled += sampled
            one.parameter.unchanged += unchanged
            if here and unchanged:
                _measure(one, lost, alike, held, state)

    readable.read(counts, fold)
    if not here and after.element_size() == 2:
        for one in alike.ones:
            _measure(one, lost, alike, held, state)


def _ends(ones: list[One]) -> list[int]:
    ends, reached = [], -1
    for one in ones:
        reached += one.spots.count
        ends.append(reached)
    return ends


def _steps(running: list[int]) -> list[int]:
    return [after - before for before, after in zip([0, *running], running, strict=False)]


def _measure(one: One, lost: Any, alike: Alike, held: Held, state: dict[Any, Any]) -> None:
    """How large the updates that left no trace were meant to be, and how far apart numbers are."""
    if len(one.parameter.spacings) >= MOST_SIZED:
        return
    start = sum(other.spots.count for other in alike.ones[: alike.ones.index(one)])
    part = slice(start, start + one.spots.count)
    where = lost[part]
    tensor, settings = held[one.place]
    meant_here = meant.Meant(state.get(tensor) or {}, settings, one.spots, readable.plain(tensor))
    update = meant_here.update(alike.gradients[part])
    found = [samples.spacing(alike.before[part])[where].median()]
    found += [update.float()[where].median()] if update is not None else []

    def keep(sizes: list[float]) -> None:
        if math.isfinite(sizes[0]):
            one.parameter.sized(sizes[1] if len(sizes) > 1 else None, sizes[0])

    readable.read(readable.torch().stack(found), keep)
