"""Which places of a batch are padding, by the masks and ids that the user's own frames hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.training import readable

MOST_FRAMES = 6
MOST_NAMES = 64
MOST_PLACES = 1_000_000
FEWEST_PLACES = 3
"""In a row; two can be a pair of anything."""
IGNORED = -100


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor of rows and places that a frame knows by a name."""

    text: str
    tensor: Any
    here: bool
    """The innermost of the frames holds it."""


@dataclass(frozen=True, slots=True)
class Padded:
    """Where padding is, one truth for each place."""

    places: Any
    held: Held
    padding_is: int
    shifted: bool


def padded_places(shape: tuple[int, ...], frame: FrameType | None) -> Padded | None:
    """Of places of this shape; None where no frame tells for certain. A mask that has ones before
    zeros in every row tells it, any other only where ids repeat one token in the same places."""
    if not 1 < prod(shape) <= MOST_PLACES:
        return None
    held = sorted(held_by(frame), key=lambda one: (not one.here, "[" in one.text))
    found = [one for one in held if fits(tuple(one.tensor.shape), shape) is not None]
    if len(shape) == 1 and any(shape[0] in real_places(one) for one in held):
        return None  # these can be the places that a mask has picked
    runs = [run for one in found if is_ids(one.tensor) for run in repeated(one.tensor)]
    for one in filter(is_mask, found):
        zero = one.tensor == 0
        for number, region in ((0, zero), (1, ~zero)):
            if any(same(region, run) for run in runs):
                return padded(region, one, number, shape)
        if is_of_lengths(one, zero):
            return padded(zero, one, 0, shape)
    for one in filter(is_labels, found):
        ignored = one.tensor == IGNORED
        for run in runs:
            if run.shape == ignored.shape and bool(run.any()) and same(ignored & run, run):
                return padded(run, one, IGNORED, shape)
    return None


def real_places(held: Held) -> tuple[int, ...]:
    """How many places a mask or labels would pick, with the first of each row and without it."""
    if is_mask(held):
        picked = held.tensor == 1
    elif is_labels(held):
        picked = held.tensor != IGNORED
    else:
        return ()
    return tuple(int(rows.sum()) for rows in (picked, picked[:, 1:], picked[:, :-1]))


def same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool((one == other).all())


def padded(region: Any, held: Held, padding_is: int, shape: tuple[int, ...]) -> Padded:
    shifted = bool(fits(tuple(region.shape), shape))
    return Padded((region[:, 1:] if shifted else region).reshape(-1), held, padding_is, shifted)


def fits(rows: tuple[int, ...], shape: tuple[int, ...]) -> bool | None:
    """Whether rows and places, flat or not, are of this shape; True: with one place less a row."""
    if len(rows) != 2 or rows[0] < 1 or rows[1] < FEWEST_PLACES:
        return None
    if shape in (rows, (prod(rows),)):
        return False
    shorter = rows[0], rows[1] - 1
    return True if shape in (shorter, (prod(shorter),)) else None


def is_mask(held: Held) -> bool:
    """Zeros and ones, both; a tensor of numbers must be called a mask."""
    ones = held.tensor == 1
    called = is_bool(held.tensor) or "mask" in held.text.lower()
    return (
        called and bool((ones | (held.tensor == 0)).all()) and bool(ones.any() and not ones.all())
    )


def is_bool(tensor: Any) -> bool:
    return str(tensor.dtype) == "torch.bool"


def is_labels(held: Held) -> bool:
    tensor = held.tensor
    return not (tensor.is_floating_point() or is_bool(tensor)) and bool((tensor == IGNORED).any())


def is_ids(tensor: Any) -> bool:
    whole = not tensor.is_floating_point() and not is_bool(tensor)
    return whole and bool((tensor >= 0).all()) and bool((tensor > 1).any())


def repeated(ids: Any) -> Iterator[Any]:
    """Where rows end, and where they begin, with one token again and again."""
    for side in (ids.flip(-1), ids):
        first = side[:, :1]
        for token in first.unique().tolist()[:MOST_NAMES]:
            run = (side == token).int().cumprod(-1).bool()
            run &= run.sum(-1, keepdim=True) < ids.shape[1]
            yield run.flip(-1) if side is not ids else run


def is_of_lengths(held: Held, zero: Any) -> bool:
    """Each row is ones and then zeros, and begins with a one; not the triangle of a causal mask,
    and not one that a name says to mark padding by ones."""
    rising = bool((zero.int().diff(dim=-1) >= 0).all()) and not bool(zero[:, 0].any())
    lengths = (~zero).sum(-1).tolist()
    return rising and "pad" not in held.text.lower() and lengths != [*range(1, len(lengths) + 1)]


def held_by(frame: FrameType | None) -> Iterator[Held]:
    """Tensors of two axes in the user's frames, those of the innermost first."""
    frames = 0
    here = True
    while frame is not None and frames < MOST_FRAMES:
        if own_code.own(frame.f_code):
            for name, value in list(frame.f_locals.items())[:MOST_NAMES]:
                yield from tensors_in(name, value, here)
            here = False
            frames += 1
        frame = frame.f_back


def tensors_in(name: str, value: object, here: bool) -> Iterator[Held]:
    if not name.isidentifier():
        return
    inside = {name: value}
    if not values.is_tensor(value):
        keys = values.mapping(value) or {}
        known = [(key, one) for key, one in keys.items() if type(key) is str]
        inside = {f'{name}["{key}"]': one for key, one in known[:MOST_NAMES]}
    for text, one in inside.items():
        plain = readable.plain(one) if values.is_tensor(one) else None
        if plain is not None and plain.dim() == 2 and plain.numel() <= MOST_PLACES:
            yield Held(text, plain, here)
