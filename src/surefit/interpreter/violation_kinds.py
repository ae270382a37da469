"""What a violation is about: which axis, which numbers, which layer is the cause."""

import ast

from surefit.interpreter.values import LayerValue
from surefit.interpreter.violations import IndexOutsideTable, JoinMismatch, WidthMismatch

CHANNELS = (1, 3, 4)


def is_channel_layout(violation: WidthMismatch) -> bool:
    """The input of the model itself, with as many channels as are wanted on another axis."""
    if not violation.layer.kind.startswith("Conv") or violation.takes not in CHANNELS:
        return False
    if violation.tensor.source_layer is not None or violation.tensor.shape.rank is None:
        return False
    sizes = violation.tensor.shape.sizes
    axes = -violation.axis - 1
    takes = violation.takes
    last = len(sizes) == axes + 2 and sizes[-1] == takes and takes not in sizes[1:-1]
    return last or lacks_channels(violation)


def lacks_channels(violation: WidthMismatch) -> bool:
    """`(rows, height, width)` for a layer that takes one channel."""
    axes = -violation.axis - 1
    return violation.takes == 1 and len(violation.tensor.shape.sizes) == axes + 1 and axes > 1


TOKEN_TYPE_NAMES = ("segment", "token_type", "type_embed")


def kind_of_lookup(violation: IndexOutsideTable) -> str:
    if violation.id < 0:
        return "padding" if violation.tensor.padding is not None else ""
    if violation.tensor.counts:
        return "positions"
    called = ast.unparse(violation.node).lower() if isinstance(violation.node, ast.Call) else ""
    return "types" if any(word in called for word in TOKEN_TYPE_NAMES) else "ids"


MAP_AXES = 4
"""Axes of pictures inside a network: rows, channels, height, width."""


def is_of_maps(violation: JoinMismatch) -> bool:
    return all(
        tensor.source_layer is not None
        and tensor.source_layer.kind.startswith("Conv")
        and tensor.shape.rank == MAP_AXES
        for tensor in violation.tensors
    )


def is_of_map_sides(violation: JoinMismatch) -> bool:
    """Maps of different heights or widths."""
    return is_of_maps(violation) and violation.axis in (-1, -2)


def is_of_widths(violation: JoinMismatch) -> bool:
    """Different numbers of features that layers gave."""
    axis = -3 if is_of_maps(violation) else -1
    return violation.axis == axis and all(tensor.source_layer for tensor in violation.tensors)


def projection_beside_table(violation: JoinMismatch) -> LayerValue | None:
    """A projection beside a table of embeddings."""
    layers = [tensor.source_layer for tensor in violation.tensors]
    tables = [layer is not None and layer.kind == "Embedding" for layer in layers]
    return layers[tables.index(False)] if sorted(tables) == [False, True] else None
