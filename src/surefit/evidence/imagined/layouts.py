"""Pictures whose channels do not stand where a convolution looks for them."""

from surefit.evidence.imagined.mishaps import WidthMisfit

CHANNELS = (1, 3, 4)


def is_layout(one: WidthMisfit) -> bool:
    """The input of the model itself, with as many channels as are wanted on another axis."""
    if not one.layer.kind.startswith("Conv") or one.takes not in CHANNELS:
        return False
    if one.tensor.by is not None or one.tensor.shape.rank is None:
        return False
    sizes = one.tensor.shape.sizes
    axes = -one.axis - 1
    last = len(sizes) == axes + 2 and sizes[-1] == one.takes and one.takes not in sizes[1:-1]
    return last or lacks_channels(one)


def lacks_channels(one: WidthMisfit) -> bool:
    """`(rows, height, width)` for a layer that takes one channel."""
    axes = -one.axis - 1
    return one.takes == 1 and len(one.tensor.shape.sizes) == axes + 1 and axes > 1
