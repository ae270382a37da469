"""The rows that a model is called with: all tensors of a call that have as many of them."""

from collections.abc import Iterator
from typing import Any

from surefit.observe.inside.autopsy import values
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.row_prints import RowPrints, prints_of

LABELS = ("label", "target", "y_true", "mask")
"""Arguments that are no part of what is told apart by content."""
TURN = 5871781006564002453


def rows_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> RowPrints | None:
    """To be called while looking; None where the call has no rows, or tensors with different
    numbers of them, as graphs have."""
    named = list(_tensors(args, kwargs))
    mask = next((tensor for name, tensor in named if "mask" in name), None)
    inputs = [tensor for name, tensor in named if not any(word in name for word in LABELS)]
    inputs = [tensor for tensor in inputs if tensor.dim()]
    if not inputs or len({int(tensor.shape[0]) for tensor in inputs}) > 1:
        return None
    prints = [prints_of(tensor, mask) for tensor in inputs]
    known = [single for single in prints if single is not None]
    if len(known) < len(prints):
        return None
    return known[0] if len(known) == 1 else _together(known)


def _together(parts: list[RowPrints]) -> RowPrints:
    return RowPrints(
        [_joined(hashes) for hashes in zip(*(part.exact for part in parts), strict=True)],
        [_joined(hashes) for hashes in zip(*(part.orderless for part in parts), strict=True)],
        None,
        sum(part.width for part in parts),
        any(part.continuous for part in parts),
    )


def _joined(hashes: tuple[int, ...]) -> int:
    joined = 0
    for number in hashes:
        joined = (joined * TURN + number) & 0xFFFFFFFFFFFFFFFF
    return joined


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for position, argument in enumerate(args):
        inside = values.mapping(argument)
        if inside is None:
            yield from _plain(str(position), argument)
        else:
            for key, member in inside.items():
                yield from _plain(str(key), member)
    for name, argument in kwargs.items():
        yield from _plain(name, argument)


def _plain(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    tensor = readable.plain(value) if values.is_tensor(value) else None
    if tensor is not None:
        yield name, tensor
