"""Whether a tensor keeps rows, or positions, apart: some axis along which what was not changed in
the input is not changed in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from surefit.observe.inside.training import readable

RELATIVE, ABSOLUTE = 1e-3, 1e-5
"""Rounding: beyond this a value has changed."""

View = tuple[int, int, int, int]
"""An axis, and its sizes when it is parted in three, the middle one of rows."""

CONSTANT, APART, PAIRS, MIXED = "constant", "apart", "pairs", "mixed"


@dataclass(frozen=True, slots=True)
class Separation:
    """What became of rows or positions in a tensor."""

    state: str
    axes: tuple[int, ...] = ()


class InputChange(Protocol):
    """A change of the input, and what must follow from it."""

    @property
    def size(self) -> int:
        """Rows, or positions."""

    def follows(self, before: Any, after: Any, axes: tuple[int, ...]) -> bool:
        """Whether both, with these axes of `size`, differ only as they may."""


@dataclass(frozen=True, slots=True)
class Others:
    """All rows (positions) are changed but these."""

    size: int
    fixed: tuple[int, ...]
    padding: bool = False
    """What is changed is padding: a model that finds it by its token takes it for content then."""

    def follows(self, before: Any, after: Any, axes: tuple[int, ...]) -> bool:
        for axis in axes:
            index = readable.torch().tensor(self.fixed)
            before, after = before.index_select(axis, index), after.index_select(axis, index)
        return same(before, after)


@dataclass(frozen=True, slots=True)
class Reversed:
    """Rows in the opposite order."""

    size: int

    def follows(self, before: Any, after: Any, axes: tuple[int, ...]) -> bool:
        return same(before.flip(axes), after)


@dataclass(frozen=True, slots=True)
class Shorter:
    """Less padding after the first positions, which are `fixed`. A model may join positions of its
    own to these, before them or after them."""

    size: int
    less: int
    fixed: tuple[int, ...]

    def axes(self, before: Any, after: Any) -> tuple[int, ...] | None:
        """Axes that have become shorter, as positions do; None where something else has."""
        if before.dim() != after.dim():
            return None
        pairs = list(enumerate(zip(before.shape, after.shape, strict=True)))
        shorter = [axis for axis, (was, now) in pairs if was != now]
        fits = all(self._holds_positions(before.shape[at], after.shape[at]) for at in shorter)
        return tuple(shorter) if fits else None

    def _holds_positions(self, was: int, now: int) -> bool:
        return was == self.size or (was > self.size and was - now == self.size - self.less)

    def follows(self, before: Any, after: Any, axes: tuple[int, ...]) -> bool:
        return self.difference(before, after, axes) <= RELATIVE

    def difference(self, before: Any, after: Any, axes: tuple[int, ...]) -> float:
        joined = any(before.shape[axis] > self.size for axis in axes)
        return min(
            self._difference(before, after, axes, first)
            for first in ((True, False) if joined else (True,))
        )

    def _difference(self, before: Any, after: Any, axes: tuple[int, ...], first: bool) -> float:
        """`first`: what the model joins comes before the row."""
        for axis in axes:
            if after.shape[axis] < len(self.fixed):
                return float("inf")
            joined = int(before.shape[axis]) - self.size
            before, after = (self._real(side, axis, joined, first) for side in (before, after))
        return difference(before, after)

    def _real(self, tensor: Any, axis: int, joined: int, first: bool) -> Any:
        """Without padding."""
        size, real = int(tensor.shape[axis]), len(self.fixed)
        index = range(real + joined) if first else (*range(real), *range(size - joined, size))
        return tensor.index_select(axis, readable.torch().tensor(tuple(index)))

    def kept(self, before: Any, after: Any) -> Separation:
        axes = self.axes(before, after)
        if axes is None or not self.follows(before, after, axes):
            return Separation(MIXED)
        if not axes:
            return Separation(CONSTANT)
        return Separation(APART if len(axes) == 1 else PAIRS, axes)


def same(before: Any, after: Any) -> bool:
    return difference(before, after) <= RELATIVE


def difference(before: Any, after: Any) -> float:
    """Largest change over the largest value; infinite where one is finite and the other is not."""
    if before.shape != after.shape:
        return float("inf")
    if before.numel() == 0:
        return 0.0
    if not (before.is_floating_point() or before.is_complex()):
        return 0.0 if bool((before == after).all()) else 1.0
    first, second = before.detach(), after.detach()
    if first.is_complex():
        first, second = first.abs(), second.abs()
    first, second = first.double(), second.double()
    alike = (first == second) | (first.isnan() & second.isnan())
    if bool(alike.all()):
        return 0.0
    gap = (first - second).abs()[~alike]
    if not bool(gap.isfinite().all()):
        return float("inf")
    scale = first[first.isfinite()].abs().max().item() if bool(first.isfinite().any()) else 0.0
    largest = float(gap.max().item())
    return 0.0 if largest <= ABSOLUTE * min(1.0, scale) else largest / max(scale, 1e-12)


def kept(probe: InputChange, before: Any, after: Any) -> Separation:
    if isinstance(probe, Shorter):
        return probe.kept(before, after)
    if before.shape != after.shape:
        return Separation(MIXED)
    if same(before, after):
        return Separation(CONSTANT)
    every = list(views(tuple(before.shape), probe.size))
    fitting = [view[0] for view in every if _follows(probe, before, after, (view,))]
    if fitting:
        return Separation(APART, tuple(dict.fromkeys(fitting)))
    for pair in combinations(every, 2):
        if pair[0][0] != pair[1][0] and _follows(probe, before, after, pair):
            return Separation(PAIRS, (pair[0][0], pair[1][0]))
    return Separation(MIXED)


def _follows(probe: InputChange, before: Any, after: Any, parts: tuple[View, ...]) -> bool:
    shape: list[int] = []
    axes: list[int] = []
    by_axis = {view[0]: view[1:] for view in parts}
    for axis, size in enumerate(before.shape):
        if axis in by_axis:
            axes.append(len(shape) + 1)
            shape += by_axis[axis]
        else:
            shape.append(size)
    return probe.follows(before.reshape(shape), after.reshape(shape), tuple(axes))


def views(shape: tuple[int, ...], size: int) -> Iterator[View]:
    """Ways in which an axis holds rows: alone, or with others before or after them. Axes of just
    that size come first."""
    for axis, length in enumerate(shape):
        if length == size:
            yield axis, 1, size, 1
    for axis, length in enumerate(shape):
        if length != size and length and length % size == 0:
            times = length // size
            for before in range(1, times + 1):
                if times % before == 0:
                    yield axis, before, size, times // before
