"""Rows of a batch as numbers that tell whether two rows are equal, rearranged or nearly equal.

Of each row: a 64-bit hash of its elements in order, one that does not depend on their order, and,
of floating-point numbers, a short projection whose distances are about those of the rows.
"""

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from surefit.observe.inside.training import readable

MOST_WIDTH = 2048
"""Elements of a row that are looked at; of a longer one, equally spaced ones."""
MOST_ELEMENTS = 1_000_000
SKETCH = 32
"""Numbers of a projection: distances are right to about one eighth."""
FEWEST_WIDTH = 8
"""Elements of a row of which a projection is taken: with fewer, rows are near by chance."""
LOOKED_AT = 32
"""Rows and elements of them that tell whether numbers are continuous."""
MIX = -7046029254386353131
"""An odd number of 64 bits, as a signed one."""


@dataclass(frozen=True, slots=True)
class RowPrints:
    """Of the rows of one batch."""

    exact: list[int]
    orderless: list[int]
    sketch: Any
    """A tensor [rows, SKETCH] of its own; None where rows are no floating-point numbers, or too
    few."""
    width: int
    continuous: bool
    """Most elements are no integers and differ from each other: rows are not equal by chance."""


def prints_of(tensor: Any, mask: Any = None) -> RowPrints | None:
    """`mask`: 1 at tokens, 0 at padding. To be called while looking; None for what has no rows or
    lies on a device."""
    plain = readable.plain(tensor)
    if plain is None or not plain.is_cpu or plain.dim() < 1 or not plain.shape[0]:
        return None
    if plain.layout is not readable.torch().strided:
        return None
    rows, width = int(plain.shape[0]), int(prod(plain.shape[1:]))
    if not width or rows * min(width, MOST_WIDTH) > MOST_ELEMENTS:
        return None
    flat = plain.detach().reshape(rows, width)
    if width > MOST_WIDTH:
        flat = flat[:, :: width // MOST_WIDTH][:, :MOST_WIDTH]
    if flat.dtype.is_floating_point:
        return _of_floats(flat.float())
    return _of_integers(flat.long(), _tokens_of(flat, mask))


def _of_floats(flat: Any) -> RowPrints:
    torch = readable.torch()
    flat = flat + 0.0  # no negative zero
    width = int(flat.shape[1])
    bits = flat.contiguous().view(torch.int32).long()
    coefficients, directions = _coefficients(width), _directions(width)
    sketch = _product(flat, directions) if width >= FEWEST_WIDTH else None
    return RowPrints(
        (bits * coefficients).sum(1).tolist(),
        _mixed(bits).sum(1).tolist(),
        sketch if sketch is None or bool(sketch.isfinite().all()) else None,
        width,
        _is_continuous(flat),
    )


def _product(rows: Any, directions: Any) -> Any:
    """In float32, also where the program computes in less."""
    torch = readable.torch()
    if not torch.is_autocast_enabled("cpu"):
        return rows @ directions
    with torch.autocast("cpu", enabled=False):
        return rows @ directions


def _is_continuous(flat: Any) -> bool:
    few = flat[:LOOKED_AT, :LOOKED_AT]
    broken = few[few != few.round()]
    return bool(2 * broken.numel() > few.numel() and 2 * broken.unique().numel() > few.shape[0])


def _of_integers(flat: Any, tokens: Any) -> RowPrints:
    """Padding has no part, wherever it stands."""
    positions = (tokens.cumsum(1) - 1).clamp_min(0)
    values = _mixed(flat) * tokens
    return RowPrints(
        (values * _coefficients(int(flat.shape[1]))[positions]).sum(1).tolist(),
        values.sum(1).tolist(),
        None,
        int(flat.shape[1]),
        continuous=False,
    )


def _tokens_of(flat: Any, mask: Any) -> Any:
    """1 at tokens; without a mask, zeros at the end of a row are padding."""
    known = readable.plain(mask) if mask is not None else None
    if known is not None and known.is_cpu and known.shape == flat.shape:
        return (known != 0).long()
    return 1 - (flat == 0).long().flip(1).cumprod(1).flip(1)


def _mixed(numbers: Any) -> Any:
    mixed = (numbers + 1013904223) * MIX
    return (mixed ^ (mixed >> 29)) * MIX


@cache
def _coefficients(width: int) -> Any:
    return _mixed(readable.torch().arange(1, width + 1)) | 1


@cache
def _directions(width: int) -> Any:
    """Signs that no random stream of the program is asked for."""
    torch = readable.torch()
    numbers = _mixed(torch.arange(width * SKETCH).reshape(width, SKETCH) + 77_777)
    return ((numbers >> 40) & 1).float().mul_(2).sub_(1).div_(SKETCH**0.5)
