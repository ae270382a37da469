"""Tensors that are joined or added in a script: which axis differs, and which layer is to blame."""

from surefit.evidence.imagined.mishaps import JoinMisfit
from surefit.evidence.imagined.values import Layer

MAPS = 4
"""Axes of pictures inside a network: rows, channels, height, width."""


def is_of_maps(one: JoinMisfit) -> bool:
    return all(
        isinstance(tensor.by, Layer) and tensor.by.kind.startswith("Conv") for tensor in one.tensors
    ) and all(tensor.shape.rank == MAPS for tensor in one.tensors)


def is_of_sides(one: JoinMisfit) -> bool:
    """Maps of different heights or widths."""
    return is_of_maps(one) and one.axis in (-1, -2)


def is_of_widths(one: JoinMisfit) -> bool:
    """Different numbers of features, of which layers gave at least one."""
    layers = [tensor.by for tensor in one.tensors if isinstance(tensor.by, Layer)]
    if len(layers) < 2:
        return False
    axis = -3 if is_of_maps(one) else -1
    return one.axis == axis


def to_blame(one: JoinMisfit) -> Layer | None:
    """A projection beside a table of embeddings."""
    layers = [tensor.by for tensor in one.tensors]
    tables = [isinstance(by, Layer) and by.kind == "Embedding" for by in layers]
    if sorted(tables) != [False, True]:
        return None
    other = layers[tables.index(False)]
    return other if isinstance(other, Layer) else None
