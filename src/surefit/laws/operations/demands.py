"""What operations demand of their operands: each kind of demand, and how a call breaks it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Literal, Protocol

from surefit.doctor.observations import Value
from surefit.laws.operations.strides import can_view, inferred

About = Literal["size", "axes", "dtype", "device", "number", "setting", "layout", "gradient"]
Given = Mapping[str, Value]
"""Arguments of a call by name; items of a list are `tensors[0]`, `tensors[1]`."""
ALL = "*"
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex64", "complex128"})
INDICES = frozenset({"int32", "int64"})
POSITIONS = frozenset({"int64"})


@dataclass(frozen=True, slots=True)
class Party:
    """One of the two things that disagree."""

    argument: str
    number: int
    """A size, a number of axes or elements, an index; 0 where it is about something else."""
    axis: int | None = None
    """From 0, where `number` is its size."""
    has: str = ""
    """A dtype, a device, a setting."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Which demand is broken, and by which two sides."""

    about: About
    side: Party
    other: Party | None
    takes: str
    """What must hold, in words: `both sizes must be equal`."""


class Demand(Protocol):
    """Something that must hold of the arguments of a call."""

    def conflict(self, given: Given) -> Conflict | None:
        """None where it holds, or where the arguments do not say."""


@dataclass(frozen=True, slots=True)
class At:
    """The size of an axis of an argument."""

    argument: str
    axis: int | str
    """From either end; or the argument that holds it."""

    def side(self, given: Given) -> Party | None:
        shape, axis = shape_in(given, self.argument), axis_in(given, self.axis)
        if shape is None or axis is None or not -len(shape) <= axis < len(shape):
            return None
        return Party(self.argument, shape[axis], axis % len(shape))


def axis_in(given: Given, axis: int | str) -> int | None:
    return axis if isinstance(axis, int) else number_in(given, axis)


def shape_in(given: Given, name: str) -> tuple[int, ...] | None:
    return given[name].shape if name in given else None


def number_in(given: Given, name: str, otherwise: int | None = None) -> int | None:
    value = given.get(name)
    if value is None:
        return otherwise
    return value.scalar if type(value.scalar) is int else None


def numbers_in(given: Given, name: str) -> tuple[int, ...] | None:
    """A tuple of integers; a single one counts as a tuple of one."""
    single = number_in(given, name)
    if single is not None:
        return (single,)
    items = [value.scalar for value in listed(given, name).values()]
    numbers = tuple(item for item in items if type(item) is int)
    known = given.get(name)
    complete = known is not None and len(numbers) == (known.length or len(items))
    return numbers if numbers and complete and len(numbers) == len(items) else None


def listed(given: Given, name: str) -> dict[str, Value]:
    """The items of an argument that is a list, each by its name in the call."""
    apart = {key: value for key, value in given.items() if key.startswith(f"{name}[")}
    known = given.get(name)
    return apart or {
        f"{name}[{key}]": member for key, member in (known.members.items() if known else ())
    }


def tensors_in(given: Given, names: Sequence[str]) -> dict[str, Value]:
    """Arguments that are tensors; `*` stands for all of them."""
    if ALL in names:
        found = {
            **given,
            **{key: item for name in given for key, item in listed(given, name).items()},
        }
    else:
        found = {name: given[name] for name in names if name in given}
        found |= {key: item for name in names for key, item in listed(given, name).items()}
    return {name: value for name, value in found.items() if value.shape is not None}


@dataclass(frozen=True, slots=True)
class Equal:
    """Two sizes are equal; `times` another argument's number, where there is one."""

    first: At
    second: At
    times: str = ""

    def conflict(self, given: Given) -> Conflict | None:
        first, second = self.first.side(given), self.second.side(given)
        factor = number_in(given, self.times, 1) if self.times else 1
        if first is None or second is None or factor is None:
            return None
        if first.number == second.number * factor:
            return None
        other = Party(second.argument, second.number * factor, second.axis)
        return Conflict("size", first, other, "both sizes must be equal")


@dataclass(frozen=True, slots=True)
class SizeIs:
    """The size of an axis is this number."""

    of: At
    number: int

    def conflict(self, given: Given) -> Conflict | None:
        side = self.of.side(given)
        if side is None or side.number == self.number:
            return None
        return Conflict("size", side, None, f"this axis must have the size {self.number}")


@dataclass(frozen=True, slots=True)
class Axes:
    """An argument has one of these numbers of axes."""

    of: str
    least: int
    most: int = 99
    words: str = ""

    def conflict(self, given: Given) -> Conflict | None:
        shape = shape_in(given, self.of)
        if shape is None or self.least <= len(shape) <= self.most:
            return None
        return Conflict("axes", Party(self.of, len(shape)), None, f"it must have {self.taken}")

    @property
    def taken(self) -> str:
        if self.words:
            return self.words
        if self.most == 99:
            return f"at least {axes(self.least)}"
        between = f"{self.least} or {self.most}" if self.least != self.most else f"{self.most}"
        return f"{between} {'axis' if self.most == 1 else 'axes'}"


def axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


@dataclass(frozen=True, slots=True)
class AsManyAxes:
    """Two arguments have equally many axes."""

    first: str
    second: str

    def conflict(self, given: Given) -> Conflict | None:
        first, second = shape_in(given, self.first), shape_in(given, self.second)
        if first is None or second is None or len(first) == len(second):
            return None
        sides = Party(self.first, len(first)), Party(self.second, len(second))
        return Conflict("axes", *sides, "both must have equally many axes")


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Sizes of aligned axes are equal, or 1."""

    of: tuple[str, ...]
    onto: bool = False
    """Into the first one, which is not repeated itself."""

    def conflict(self, given: Given) -> Conflict | None:
        tensors = tensors_in(given, self.of)
        items = list(tensors.items())
        for at, (name, value) in enumerate(items):
            for other_name, other in items[at + 1 :]:
                found = self.pair(name, value.shape or (), other_name, other.shape or ())
                if found is not None:
                    return found
        return None

    def pair(
        self, name: str, shape: tuple[int, ...], other: str, sizes: tuple[int, ...]
    ) -> Conflict | None:
        takes = "aligned from the last axis, both sizes must be equal, or one of them 1"
        pairs = zip_longest(reversed(shape), reversed(sizes))
        for back, (first, second) in enumerate(pairs, 1):
            if first is None or second is None:
                if self.onto and first is None:
                    sides = Party(name, len(shape)), Party(other, len(sizes))
                    return Conflict("axes", *sides, "it is repeated along no further axis")
                continue
            if first == second or second == 1 or (first == 1 and not self.onto):
                continue
            sides = (
                Party(name, first, len(shape) - back),
                Party(other, second, len(sizes) - back),
            )
            return Conflict("size", *sides, takes)
        return None


@dataclass(frozen=True, slots=True)
class SameShape:
    """Two arguments have one shape."""

    first: str
    second: str

    def conflict(self, given: Given) -> Conflict | None:
        first, second = sizes_in(given, self.first), sizes_in(given, self.second)
        if first is None or second is None or first == second:
            return None
        if len(first) != len(second):
            return AsManyAxes(self.first, self.second).conflict(given) or Conflict(
                "axes",
                Party(self.first, len(first)),
                Party(self.second, len(second)),
                SAME,
            )
        at = next(at for at, pair in enumerate(zip(first, second, strict=True)) if len({*pair}) > 1)
        sides = Party(self.first, first[at], at), Party(self.second, second[at], at)
        return Conflict("size", *sides, SAME)


SAME = "both must have the same shape"


def sizes_in(given: Given, name: str) -> tuple[int, ...] | None:
    """The shape of a tensor, or the numbers of a tuple."""
    shape = shape_in(given, name)
    return shape if shape is not None else numbers_in(given, name)


@dataclass(frozen=True, slots=True)
class Joined:
    """Tensors of a list have equally many axes, and equal sizes except along `but`."""

    of: str
    but: str = ""

    def conflict(self, given: Given) -> Conflict | None:
        tensors = {
            name: value
            for name, value in tensors_in(given, (self.of,)).items()
            if name != self.of and (value.shape != (0,) or not self.but)
        }
        if len(tensors) < 2:
            return None
        first = next(iter(tensors))
        usual = tensors[first].shape or ()
        along = number_in(given, self.but, 0) if self.but else None
        for name, value in tensors.items():
            shape = value.shape or ()
            if len(shape) != len(usual):
                sides = Party(first, len(usual)), Party(name, len(shape))
                return Conflict("axes", *sides, "all must have equally many axes")
            for axis, (size, other) in enumerate(zip(usual, shape, strict=True)):
                skipped = along is not None and axis == along % len(usual)
                if size != other and not skipped:
                    return Conflict(
                        "size",
                        Party(first, size, axis),
                        Party(name, other, axis),
                        self.takes,
                    )
        return None

    @property
    def takes(self) -> str:
        return "all sizes must be equal" + (
            ", except along the axis of the join" if self.but else ""
        )


@dataclass(frozen=True, slots=True)
class Product:
    """The last size of the left side is the last but one of the right; batch axes fit."""

    left: str
    right: str

    def conflict(self, given: Given) -> Conflict | None:
        first, second = shape_in(given, self.left), shape_in(given, self.right)
        if first is None or second is None or not first or not second:
            return None
        row = len(second) - 2 if len(second) > 1 else 0
        if first[-1] != second[row]:
            sides = (
                Party(self.left, first[-1], len(first) - 1),
                Party(self.right, second[row], row),
            )
            return Conflict("size", *sides, "the product sums over these two, which must be equal")
        if len(first) > 2 and len(second) > 2:
            return Broadcast(()).pair(self.left, first[:-2], self.right, second[:-2])
        return None


@dataclass(frozen=True, slots=True)
class Dtype:
    """An argument is of one of these dtypes."""

    of: str
    dtypes: frozenset[str]

    def conflict(self, given: Given) -> Conflict | None:
        dtype = given[self.of].dtype if self.of in given else None
        if dtype is None or dtype in self.dtypes:
            return None
        takes = "floating point" if self.dtypes >= FLOATS - {"complex64"} else listing(self.dtypes)
        return Conflict("dtype", Party(self.of, 0, has=dtype), None, f"it must be {takes}")


def listing(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


@dataclass(frozen=True, slots=True)
class OneDtype:
    """All are of one dtype."""

    of: tuple[str, ...] = (ALL,)

    def conflict(self, given: Given) -> Conflict | None:
        tensors = {name: value for name, value in tensors_in(given, self.of).items() if value.dtype}
        first = next(iter(tensors), "")
        for name, value in tensors.items():
            if value.dtype != tensors[first].dtype:
                sides = (
                    Party(first, 0, has=tensors[first].dtype or ""),
                    Party(name, 0, has=value.dtype or ""),
                )
                return Conflict("dtype", *sides, "all must be of one dtype")
        return None


@dataclass(frozen=True, slots=True)
class OneDevice:
    """All are on one device; a single number on the CPU goes with every device."""

    of: tuple[str, ...] = (ALL,)

    def conflict(self, given: Given) -> Conflict | None:
        tensors = {
            name: value
            for name, value in tensors_in(given, self.of).items()
            if value.device and (value.shape or value.device != "cpu")
        }
        first = next(iter(tensors), "")
        for name, value in tensors.items():
            if value.device != tensors[first].device:
                sides = (
                    Party(first, 0, has=tensors[first].device or ""),
                    Party(name, 0, has=value.device or ""),
                )
                return Conflict("device", *sides, "all must be on one device")
        return None


@dataclass(frozen=True, slots=True)
class Within:
    """Every number of an index is a position of an axis."""

    index: str
    of: At
    negative: bool = False
    """Counted from the end, they are positions as well."""
    ignored: str = ""
    """The argument that names a number which does not count."""

    def conflict(self, given: Given) -> Conflict | None:
        value, side = given.get(self.index), self.of.side(given)
        if value is None or value.least is None or value.greatest is None or side is None:
            return None
        least, greatest = int(value.least), int(value.greatest)
        skipped = number_in(given, self.ignored, -100) if self.ignored else None
        takes = f"every number must be a position, from 0 to {side.number - 1}"
        if greatest >= side.number and greatest != skipped:
            return Conflict("number", Party(self.index, greatest), side, takes)
        if least < (-side.number if self.negative else 0) and least != skipped:
            return Conflict("number", Party(self.index, least), side, takes)
        return None


@dataclass(frozen=True, slots=True)
class NoLonger:
    """An index is on no axis longer than what it picks from, except along `but`."""

    index: str
    of: str
    but: str = ""

    def conflict(self, given: Given) -> Conflict | None:
        index, of = shape_in(given, self.index), shape_in(given, self.of)
        if index is None or of is None or len(index) != len(of) or not of:
            return None
        along = number_in(given, self.but) if self.but else None
        if self.but and along is None:
            return None
        for axis, (size, room) in enumerate(zip(index, of, strict=True)):
            if size > room and (along is None or axis != along % len(of)):
                sides = Party(self.index, size, axis), Party(self.of, room, axis)
                return Conflict("size", *sides, "the index must be no longer")
        return None


AT_MOST = "at most"


@dataclass(frozen=True, slots=True)
class AtMost:
    """A number, or the greatest of several, is no larger than a size."""

    number: str
    of: At

    def conflict(self, given: Given) -> Conflict | None:
        value, side = given.get(self.number), self.of.side(given)
        known = value.greatest if value is not None and value.greatest is not None else None
        number = int(known) if known is not None else number_in(given, self.number)
        if side is None or number is None or number <= side.number:
            return None
        return Conflict(
            "number", Party(self.number, number), side, f"it can be {AT_MOST} {side.number}"
        )


@dataclass(frozen=True, slots=True)
class Positive:
    """Every number is at least 1."""

    of: str

    def conflict(self, given: Given) -> Conflict | None:
        least = given[self.of].least if self.of in given else None
        if least is None or least >= 1:
            return None
        return Conflict(
            "number", Party(self.of, int(least)), None, "every number must be at least 1"
        )


@dataclass(frozen=True, slots=True)
class AxisExists:
    """The axis that is named is one of the argument; `added` where one more is made."""

    axis: str
    of: str
    added: int = 0

    def conflict(self, given: Given) -> Conflict | None:
        items = listed(given, self.of)
        name = next(iter(items), self.of)
        shape = (items.get(name) or given.get(name, Value("", ""))).shape
        if shape is None:
            return None
        count = max(len(shape) + self.added, 1)
        for number in numbers_in(given, self.axis) or ():
            if not -count <= number < count:
                side = Party(self.axis, number)
                takes = f"an axis must be from {-count} to {count - 1}"
                return Conflict("axes", side, Party(name, len(shape)), takes)
        return None


@dataclass(frozen=True, slots=True)
class Divisible:
    """A size is a multiple of a number, or of what an argument holds."""

    of: At
    by: str | int

    def conflict(self, given: Given) -> Conflict | None:
        side, by = self.of.side(given), axis_in(given, self.by)
        if side is None or not by or side.number % by == 0:
            return None
        return Conflict("number", side, Party(str(self.by), by), f"it must be a multiple of {by}")


@dataclass(frozen=True, slots=True)
class KernelFits:
    """The kernel is no larger than the padded input, along each of the last axes."""

    input: str
    sides: int
    weight: str = ""
    """The tensor whose last axes are the kernel; otherwise the argument `kernel_size`."""

    def conflict(self, given: Given) -> Conflict | None:
        shape, kernel = shape_in(given, self.input), self.kernel(given)
        if shape is None or kernel is None or len(shape) < self.sides + 1:
            return None
        padding = spread(numbers_in(given, "padding") if "padding" in given else (0,), self.sides)
        dilation = spread(
            numbers_in(given, "dilation") if "dilation" in given else (1,), self.sides
        )
        if padding is None or dilation is None:
            return None
        for at in range(self.sides):
            room = shape[at - self.sides] + 2 * padding[at]
            reach = dilation[at] * (kernel[at] - 1) + 1
            if reach > room:
                axis = len(shape) - self.sides + at
                other = Party(self.weight or "kernel_size", reach, 2 + at if self.weight else None)
                takes = f"the kernel reaches over {reach}, and the padded axis has {room}"
                return Conflict("size", Party(self.input, shape[axis], axis), other, takes)
        return None

    def kernel(self, given: Given) -> tuple[int, ...] | None:
        if self.weight:
            weight = shape_in(given, self.weight)
            return weight[-self.sides :] if weight is not None else None
        return spread(numbers_in(given, "kernel_size"), self.sides)


def spread(numbers: tuple[int, ...] | None, sides: int) -> tuple[int, ...] | None:
    """A single number stands for each of the axes."""
    if numbers is None or len(numbers) not in (1, sides):
        return None
    return numbers * sides if len(numbers) == 1 else numbers


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of an input are those of the weight, times the groups."""

    sides: int
    transposed: bool = False

    def conflict(self, given: Given) -> Conflict | None:
        shape, weight = shape_in(given, "input"), shape_in(given, "weight")
        groups = number_in(given, "groups", 1)
        if shape is None or weight is None or groups is None or len(shape) < self.sides + 1:
            return None
        axis = len(shape) - self.sides - 1
        wanted = weight[0] if self.transposed else weight[1] * groups
        if shape[axis] == wanted:
            return None
        other = Party("weight", wanted, 0 if self.transposed else 1)
        return Conflict("size", Party("input", shape[axis], axis), other, "channels must be equal")


@dataclass(frozen=True, slots=True)
class Trailing:
    """The last sizes of an argument are these numbers."""

    of: str
    sizes: str

    def conflict(self, given: Given) -> Conflict | None:
        shape, sizes = shape_in(given, self.of), sizes_in(given, self.sizes)
        if shape is None or not sizes:
            return None
        if len(shape) < len(sizes):
            return Conflict(
                "axes",
                Party(self.of, len(shape)),
                Party(self.sizes, len(sizes)),
                SAME,
            )
        for back in range(1, len(sizes) + 1):
            if shape[-back] != sizes[-back]:
                side = Party(self.of, shape[-back], len(shape) - back)
                other = Party(self.sizes, sizes[-back])
                return Conflict("size", side, other, "both sizes must be equal")
        return None


@dataclass(frozen=True, slots=True)
class AddsUpTo:
    """Numbers that add up to a size."""

    numbers: str
    of: At

    def conflict(self, given: Given) -> Conflict | None:
        numbers, side = numbers_in(given, self.numbers), self.of.side(given)
        several = self.numbers in given and given[self.numbers].scalar is None
        if numbers is None or side is None or not several or sum(numbers) == side.number:
            return None
        takes = f"{' + '.join(map(str, numbers))} must be {side.number}"
        return Conflict("size", side, Party(self.numbers, sum(numbers)), takes)


@dataclass(frozen=True, slots=True)
class Elements:
    """A shape has as many elements as the argument; with `view`, strides that it can have."""

    of: str
    shape: str
    view: bool = False

    def conflict(self, given: Given) -> Conflict | None:
        shape, target = shape_in(given, self.of), numbers_in(given, self.shape)
        if shape is None or target is None:
            return None
        whole = inferred(shape, target)
        if whole is None:
            known = prod(size for size in target if size >= 0)
            takes = f"{prod(shape)} elements must fill it"
            return Conflict("size", Party(self.of, prod(shape)), Party(self.shape, known), takes)
        stride = given[self.of].stride
        if self.view and stride is not None and not can_view(shape, stride, whole):
            takes = "its memory must be in the order of its axes"
            return Conflict("layout", Party(self.of, 0, has="not contiguous"), None, takes)
        return None


@dataclass(frozen=True, slots=True)
class AsManyNumbers:
    """A number for each axis."""

    numbers: str
    of: str

    def conflict(self, given: Given) -> Conflict | None:
        numbers, shape = numbers_in(given, self.numbers), shape_in(given, self.of)
        if numbers is None or shape is None or len(numbers) == len(shape):
            return None
        sides = Party(self.of, len(shape)), Party(self.numbers, len(numbers))
        return Conflict("axes", *sides, "it must name every axis once")


@dataclass(frozen=True, slots=True)
class SameElements:
    """Two arguments have as many elements."""

    first: str
    second: str

    def conflict(self, given: Given) -> Conflict | None:
        first, second = shape_in(given, self.first), shape_in(given, self.second)
        if first is None or second is None or prod(first) == prod(second):
            return None
        sides = Party(self.first, prod(first)), Party(self.second, prod(second))
        return Conflict("size", *sides, "both must have as many elements")


@dataclass(frozen=True, slots=True)
class Expands:
    """Only axes of size 1 are repeated; new ones are added in front."""

    of: str
    sizes: str

    def conflict(self, given: Given) -> Conflict | None:
        shape, sizes = shape_in(given, self.of), sizes_in(given, self.sizes)
        if shape is None or sizes is None:
            return None
        if len(sizes) < len(shape):
            sides = Party(self.of, len(shape)), Party(self.sizes, len(sizes))
            return Conflict("axes", *sides, "it must name every axis")
        for back in range(1, len(shape) + 1):
            if sizes[-back] not in (-1, shape[-back]) and shape[-back] != 1:
                side = Party(self.of, shape[-back], len(shape) - back)
                other = Party(self.sizes, sizes[-back])
                return Conflict("size", side, other, "only an axis of size 1 is repeated")
        return None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two numbers for each axis that is padded, the last axis first."""

    pad: str
    of: str

    def conflict(self, given: Given) -> Conflict | None:
        shape, pad = shape_in(given, self.of), numbers_in(given, self.pad)
        known = given.get(self.pad)
        count = len(pad) if pad is not None else known.length if known is not None else None
        if shape is None or count is None:
            return None
        if count % 2:
            return Conflict("setting", Party(self.pad, count), None, "it must be pairs of numbers")
        if count <= 2 * len(shape):
            return None
        takes = f"it takes two numbers for each axis, at most {2 * len(shape)}"
        return Conflict("axes", Party(self.of, len(shape)), Party(self.pad, count), takes)


@dataclass(frozen=True, slots=True)
class Falling:
    """Numbers in decreasing order, unless a flag says that they need not be. The last demand of a
    row: what broke is this where all others hold and the numbers are not equal."""

    of: str
    unless: str

    def conflict(self, given: Given) -> Conflict | None:
        value, flag = given.get(self.of), given.get(self.unless)
        if value is None or (flag is not None and flag.scalar is False):
            return None
        if value.least is None or value.greatest is None or value.least == value.greatest:
            return None
        side = Party(self.of, 0, has="not in decreasing order")
        takes = f"the numbers must decrease, unless `{self.unless}=False`"
        return Conflict("setting", side, None, takes)


@dataclass(frozen=True, slots=True)
class SettingFits:
    """A setting that goes with the number of axes."""

    name: str
    of: str
    by_axes: Mapping[int, tuple[str, ...]]

    def conflict(self, given: Given) -> Conflict | None:
        value, shape = given.get(self.name), shape_in(given, self.of)
        takes = self.by_axes.get(len(shape)) if shape is not None else None
        if value is None or takes is None or not isinstance(value.scalar, str):
            return None
        if value.scalar in takes:
            return None
        side, other = (
            Party(self.name, 0, has=f"'{value.scalar}'"),
            Party(self.of, len(shape or ())),
        )
        several = ", ".join(f"'{name}'" for name in takes)
        return Conflict("setting", side, other, f"`{self.name}` must be one of {several}")


@dataclass(frozen=True, slots=True)
class Classes:
    """Class indices have the shape of the predictions without the axis of classes."""

    predictions: str
    target: str

    def conflict(self, given: Given) -> Conflict | None:
        shape, target = shape_in(given, self.predictions), shape_in(given, self.target)
        floating = given[self.target].dtype in FLOATS if self.target in given else False
        if shape is None or target is None or not shape or (floating and shape == target):
            return None
        wanted = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
        if len(shape) == 1 and target == (1,):
            return None
        if len(target) != len(wanted):
            sides = (
                Party(self.target, len(target)),
                Party(self.predictions, len(shape)),
            )
            return Conflict("axes", *sides, "the target lacks the axis of classes, axis 1")
        for axis, (size, other) in enumerate(zip(target, wanted, strict=True)):
            if size != other:
                sides = (
                    Party(self.target, size, axis),
                    Party(self.predictions, other, axis + 1 if axis else 0),
                )
                return Conflict("size", *sides, "both sizes must be equal")
        return None


@dataclass(frozen=True, slots=True)
class EquationSizes:
    """A letter of an equation has one size."""

    equation: str
    operands: str

    def conflict(self, given: Given) -> Conflict | None:
        equation = given[self.equation].scalar if self.equation in given else None
        tensors = tensors_in(given, (self.operands,))
        parts = str(equation).replace(" ", "").partition("->")[0].split(",")
        if not isinstance(equation, str) or len(parts) != len(tensors) or "." in equation:
            return None
        known: dict[str, Party] = {}
        for (name, value), letters in zip(tensors.items(), parts, strict=True):
            shape = value.shape or ()
            if len(letters) != len(shape):
                takes = f"`{letters}` names {axes(len(letters))}"
                return Conflict("axes", Party(name, len(shape)), None, takes)
            for axis, (letter, size) in enumerate(zip(letters, shape, strict=True)):
                side = Party(name, size, axis)
                earlier = known.setdefault(letter, side)
                if earlier.number != size and 1 not in (earlier.number, size):
                    takes = f"both are `{letter}` of the equation and must be equal"
                    return Conflict("size", earlier, side, takes)
        return None


@dataclass(frozen=True, slots=True)
class Masked:
    """A mask in brackets has the sizes of the first axes of what it picks from."""

    of: str
    index: str

    def conflict(self, given: Given) -> Conflict | None:
        shape, index = shape_in(given, self.of), listed(given, self.index)
        name, mask = next(iter(index.items()), ("", None))
        if shape is None or mask is None or mask.dtype != "bool" or len(index) != 1:
            return None
        sizes = mask.shape or ()
        if len(sizes) > len(shape):
            sides = Party(name, len(sizes)), Party(self.of, len(shape))
            return Conflict("axes", *sides, "a mask must have no more axes than what it picks from")
        for axis, (size, other) in enumerate(zip(sizes, shape, strict=False)):
            if size != other:
                sides = Party(name, size, axis), Party(self.of, other, axis)
                return Conflict("size", *sides, "a mask must have the sizes of the axes it covers")
        return None


@dataclass(frozen=True, slots=True)
class Positions:
    """Numbers in brackets are positions, one index for each of the first axes."""

    of: str
    index: str

    def conflict(self, given: Given) -> Conflict | None:
        for axis, name in enumerate(listed(given, self.index)):
            items = {**given, name: listed(given, self.index)[name]}
            if items[name].dtype not in ("bool", None):
                found = Within(name, At(self.of, axis), negative=True).conflict(items)
                if found is not None:
                    return found
        return None


@dataclass(frozen=True, slots=True)
class Single:
    """One element."""

    of: str
    unless: str = ""

    def conflict(self, given: Given) -> Conflict | None:
        shape = shape_in(given, self.of)
        if shape is None or prod(shape) == 1 or self.unless in given:
            return None
        return Conflict("size", Party(self.of, prod(shape)), None, "it must be a single number")


@dataclass(frozen=True, slots=True)
class Gradient:
    """It requires grad, or does not."""

    of: str
    needed: bool

    def conflict(self, given: Given) -> Conflict | None:
        has = given[self.of].requires_grad if self.of in given else None
        if has is None or has is self.needed:
            return None
        takes = "it must require grad" if self.needed else "it must not require grad"
        words = "requires grad" if has else "does not require grad"
        return Conflict("gradient", Party(self.of, 0, has=words), None, takes)


def conflicts(demands: Sequence[Demand], given: Given) -> Iterator[Conflict]:
    for demand in demands:
        found = demand.conflict(given)
        if found is not None:
            yield found
