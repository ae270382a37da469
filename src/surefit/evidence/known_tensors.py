"""Tensors of which only the source is known, and what operations make of their sizes and kinds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

Sizes = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is known of a tensor."""

    sizes: Sizes | None = None
    """None where not even the number of axes is known; in it, None for a size that is not."""
    kind: str = ""
    """`float`, `double`, `half`, `long`, `int`, `bool`; empty where it is not known."""
    classes_last: bool = False
    """Its last axis are the outputs of a layer."""
    is_one_hot: bool = False
    was_flattened: bool = False

    @property
    def axes(self) -> int | None:
        return None if self.sizes is None else len(self.sizes)


@dataclass(frozen=True, slots=True)
class Array:
    """An array of NumPy: what is known of the tensor that it can be made."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Plain:
    """A number of Python: `long` for a whole one."""

    kind: str


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or a dictionary of values."""

    members: dict[int | str, "Value"]


Value = Tensor | Array | Plain | Several | None

FLOATS = ("float", "double", "half", "bfloat16")


def cast(tensor: Tensor, kind: str) -> Tensor:
    return replace(tensor, kind=kind)


def shaped(tensor: Tensor, sizes: Sizes | None, *, flattened: bool = False) -> Tensor:
    """The same numbers in another shape."""
    return Tensor(sizes, tensor.kind, was_flattened=flattened or tensor.was_flattened)


def without_axis(tensor: Tensor, axis: int | None, *, keep: bool = False) -> Sizes | None:
    """Sizes after a sum over one axis, or over all of them."""
    if axis is None:
        return ()
    at = place(tensor, axis)
    if at is None or tensor.sizes is None:
        return None
    return (*tensor.sizes[:at], *((1,) if keep else ()), *tensor.sizes[at + 1 :])


def place(tensor: Tensor, axis: int) -> int | None:
    """The number of an axis, counted from the first one."""
    if tensor.sizes is None:
        return None
    at = axis + len(tensor.sizes) if axis < 0 else axis
    return at if 0 <= at < len(tensor.sizes) else None


def squeezed(tensor: Tensor, axis: int | None) -> Sizes | None:
    if tensor.sizes is None:
        return None
    if axis is None:
        known = all(size is not None for size in tensor.sizes)
        return tuple(size for size in tensor.sizes if size != 1) if known else None
    at = place(tensor, axis)
    if at is None or tensor.sizes[at] is None:
        return None
    return without_axis(tensor, axis) if tensor.sizes[at] == 1 else tensor.sizes


def unsqueezed(tensor: Tensor, axis: int) -> Sizes | None:
    if tensor.sizes is None:
        return None
    at = axis + len(tensor.sizes) + 1 if axis < 0 else axis
    return (*tensor.sizes[:at], 1, *tensor.sizes[at:])


def swapped(tensor: Tensor, first: int, second: int) -> Sizes | None:
    here, there = place(tensor, first), place(tensor, second)
    if here is None or there is None or tensor.sizes is None:
        return None
    sizes = list(tensor.sizes)
    sizes[here], sizes[there] = sizes[there], sizes[here]
    return tuple(sizes)


def flattened(tensor: Tensor, first: int, last: int) -> Sizes | None:
    begin, end = place(tensor, first), place(tensor, last)
    if begin is None or end is None or tensor.sizes is None:
        return None
    return (*tensor.sizes[:begin], product(tensor.sizes[begin : end + 1]), *tensor.sizes[end + 1 :])


def product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None


def together(first: Value, second: Value) -> Value:
    """What is known of a value that is one of two."""
    if first == second:
        return first
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return None
    sizes = None
    if first.sizes is not None and second.sizes is not None and first.axes == second.axes:
        pairs = zip(first.sizes, second.sizes, strict=True)
        sizes = tuple(one if one == other else None for one, other in pairs)
    return Tensor(
        sizes,
        first.kind if first.kind == second.kind else "",
        first.classes_last and second.classes_last,
    )


def combined(first: Value, second: Value, *, divided: bool = False) -> Value:
    """What is known of a sum, product or quotient."""
    if isinstance(first, Array) or isinstance(second, Array):
        return as_array(combined(as_tensor(first), as_tensor(second), divided=divided))
    tensors = [one for one in (first, second) if isinstance(one, Tensor)]
    if not tensors or not all(isinstance(one, Tensor | Plain) for one in (first, second)):
        return None
    kinds = [one.kind for one in (first, second) if isinstance(one, Tensor | Plain)]
    kind = promoted(kinds, divided=divided)
    if len(tensors) == 1:
        return replace(tensors[0], kind=kind, is_one_hot=False)
    one, other = tensors
    if one.sizes is None or other.sizes is None:
        return Tensor(None, kind)
    longer, shorter = sorted((one.sizes, other.sizes), key=len, reverse=True)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    sizes = tuple(broadcast(a, b) for a, b in zip(longer, padded, strict=True))
    return Tensor(sizes, kind, one.classes_last and other.classes_last)


def multiplied(first: Value, second: Value) -> Value:
    """What is known of `a @ b`."""
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return None
    kind = first.kind if first.kind == second.kind else ""
    if first.sizes is None or second.sizes is None or second.axes not in (1, 2) or not first.sizes:
        return Tensor(None, kind)
    last = () if second.axes == 1 else second.sizes[-1:]
    return Tensor((*first.sizes[:-1], *last), kind)


def as_tensor(value: Value) -> Value:
    return value.tensor if isinstance(value, Array) else value


def as_array(value: Value) -> Value:
    return Array(value) if isinstance(value, Tensor) else None


def broadcast(first: int | None, second: int | None) -> int | None:
    if first == 1:
        return second
    return first if second in (1, first) else None


def promoted(kinds: Sequence[str], *, divided: bool) -> str:
    if not all(kinds):
        return ""
    floats = [kind for kind in kinds if kind in FLOATS]
    if floats:
        return floats[0] if len(set(floats)) == 1 else ""
    if divided:
        return "float"
    return kinds[0] if len(set(kinds)) == 1 else ""


def collated(value: Value) -> Value:
    """Rows as the default collator puts them into a batch."""
    if isinstance(value, Several):
        return Several({key: collated(one) for key, one in value.members.items()})
    if isinstance(value, Plain):
        return Tensor((None,), "double" if value.kind == "float" else value.kind)
    value = as_tensor(value)
    if isinstance(value, Tensor):
        return Tensor(None if value.sizes is None else (None, *value.sizes), value.kind)
    return None


def item_of(value: Value) -> Value:
    """A row of rows: without the first axis."""
    if not isinstance(value, Tensor):
        return None
    return replace(value, sizes=value.sizes[1:] if value.sizes else None)
