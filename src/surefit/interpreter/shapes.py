"""Sizes of tensors of which not all are known, and what operations make of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SymbolicSize:
    """A size that the source does not tell, but that is the same wherever this stands."""

    number: int


Size = int | SymbolicSize | None
"""None is a size of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The last axes of a tensor; with `more`, an unknown number of others stands before them."""

    sizes: tuple[Size, ...] = ()
    more: bool = False

    @property
    def rank(self) -> int | None:
        return None if self.more else len(self.sizes)

    @property
    def elements(self) -> int | None:
        """How many there are, where every size is known."""
        count = 1
        for size in self.sizes:
            if not isinstance(size, int):
                return None
            count *= size
        return None if self.more else count

    def place(self, axis: int) -> int | None:
        """Where an axis stands in `sizes`; None where that is not known, or there is none."""
        at = axis + len(self.sizes) if axis < 0 else axis
        if axis >= 0 and self.more:
            return None
        return at if 0 <= at < len(self.sizes) else None

    def size(self, axis: int) -> Size:
        at = self.place(axis)
        return None if at is None else self.sizes[at]

    def has(self, axis: int) -> bool:
        """Whether it is certain that there is such an axis."""
        return self.place(axis) is not None

    def with_size(self, axis: int, size: Size) -> "Shape":
        at = self.place(axis)
        if at is None:
            return ANY
        return Shape((*self.sizes[:at], size, *self.sizes[at + 1 :]), self.more)

    def without(self, axes: Sequence[int]) -> "Shape":
        places = [self.place(axis) for axis in axes]
        if any(at is None for at in places):
            return ANY
        return Shape(
            tuple(size for at, size in enumerate(self.sizes) if at not in places), self.more
        )

    def __str__(self) -> str:
        """`(n, 16, 6, 6)`; what is not known is `n` in front and `?` elsewhere."""
        words = [
            str(size) if isinstance(size, int) else ("n" if at == 0 else "?")
            for at, size in enumerate(self.sizes)
        ]
        if self.more:
            words.insert(0, "...")
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


ANY = Shape((), True)
SCALAR = Shape()


def broadcast(first: Shape, second: Shape) -> Shape | None:
    """The shape of `first + second`; None where they certainly do not fit."""
    longest = max(len(first.sizes), len(second.sizes))
    sizes: list[Size] = []
    for axis in range(-1, -longest - 1, -1):
        size = broadcast_size(first, second, axis)
        if size == MISMATCH:
            return None
        sizes.insert(0, size)
    return Shape(tuple(sizes), first.more or second.more)


MISMATCH = -1


def broadcast_size(first: Shape, second: Shape, axis: int) -> Size:
    """What two sizes of one axis become; a shape that may have more axes may have any there."""
    left, other = axis_of(first, axis), axis_of(second, axis)
    if left == 1:
        return other
    if other == 1:
        return left
    if left == other:
        return left
    if isinstance(left, int) and isinstance(other, int):
        return MISMATCH
    if isinstance(left, int) or isinstance(other, int):
        return left if isinstance(left, int) else other
    return None


def axis_of(shape: Shape, axis: int) -> Size:
    """1 before the first axis of a shape that is fully known: it is stretched there."""
    if shape.has(axis):
        return shape.size(axis)
    return None if shape.more else 1


def common_shape(first: Shape, second: Shape) -> Shape:
    """What is certain of a tensor that has one shape or the other."""
    if first == second:
        return first
    same = not first.more and not second.more and len(first.sizes) == len(second.sizes)
    length = min(len(first.sizes), len(second.sizes))
    sizes = tuple(
        first.size(axis) if first.size(axis) == second.size(axis) else None
        for axis in range(-length, 0)
    )
    return Shape(sizes, not same)


def window_size(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size = 1) -> Size:
    """Of a convolution or a pooling, which round down; None where the window is too large."""
    match kernel, stride, padding, dilation:
        case int(window), int(step), int(edge), int(spread) if step != 0:
            have = size if isinstance(size, int) else 1000
            left = have + 2 * edge - spread * (window - 1) - 1
            after = left // step + 1 if left >= 0 else None
            return after if isinstance(size, int) else (size if after == have else None)
    return None


def transposed_window_size(
    size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size, output_padding: Size
) -> Size:
    """Of a transposed convolution."""
    match size, kernel, stride, padding, dilation, output_padding:
        case int(have), int(window), int(step), int(edge), int(spread), int(more):
            return (have - 1) * step - 2 * edge + spread * (window - 1) + more + 1
    return None


Product = tuple[int, tuple[int, ...]]
"""A number, and the unknown sizes that it is multiplied with."""


def product(sizes: Sequence[Size]) -> Product | None:
    count, unknown = 1, []
    for size in sizes:
        if size is None:
            return None
        if isinstance(size, SymbolicSize):
            unknown.append(size.number)
        else:
            count *= size
    return count, tuple(sorted(unknown))


def single_size(value: Product | None) -> Size:
    """A product as one size."""
    if value is None:
        return None
    count, unknown = value
    if not unknown:
        return count
    return SymbolicSize(unknown[0]) if count == 1 and len(unknown) == 1 else None


def reshape_shape(shape: Shape, target: Sequence[Size]) -> Shape | None:
    """A tensor in another shape; None where the numbers of elements certainly differ.

    Sizes of the target that are not known are None; -1 is the one to be computed.
    """
    wanted = list(target)
    places = [at for at, size in enumerate(wanted) if size == -1]
    have = None if shape.more else product(shape.sizes)
    asked = product([size for size in wanted if size != -1])
    if have is None or asked is None:
        for at in places:
            wanted[at] = None
        return Shape(tuple(wanted))
    if not places:
        fits = have == asked
        return None if have[1] == asked[1] and not fits else Shape(tuple(wanted))
    left = divide_sizes(have, asked)
    if left == MISMATCH:
        return None
    wanted[places[0]] = left
    return Shape(tuple(wanted))


def divide_sizes(have: Product, asked: Product) -> Size:
    """What -1 becomes; None where it depends on unknown sizes, MISFIT where nothing fits."""
    rest = list(have[1])
    for item in asked[1]:
        if item not in rest:
            return None
        rest.remove(item)
    if asked[0] == 0 or have[0] % asked[0]:
        return None if rest else MISMATCH
    return single_size((have[0] // asked[0], tuple(rest)))


def slice_size(size: Size, lower: int | None, upper: int | None, step: int | None) -> Size:
    """How many are left of an axis by a slice whose ends are numbers."""
    if not isinstance(size, int) or step == 0:
        return None
    return len(range(*slice(lower, upper, step).indices(size)))


def with_last_size(shape: Shape, size: Size) -> Shape:
    before = shape.sizes[:-1] if shape.sizes else ()
    return Shape((*before, size), shape.more)
