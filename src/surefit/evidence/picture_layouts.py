"""Pictures whose axes are in another order than convolutions take them, or lack one."""

from dataclasses import dataclass

from surefit.evidence.misfits import CHANNELS, Misfit

USUAL_CHANNELS = (1, 3, 4)
"""Grey, colours, colours with a mask: what pictures come with."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a batch of pictures becomes what a convolution takes."""

    batch: str
    """`.permute(0, 3, 1, 2)`, behind a batch; `row` is the same behind one picture."""
    row: str
    shape: tuple[int, ...]
    """Of the batch afterwards."""
    said: str


def layout_of(misfit: Misfit) -> Layout | None:
    """Where the numbers leave one way only; `x[rows, height, width, channels]` is the usual one."""
    sides = CHANNELS.get(misfit.layer.kind, 0)
    shape, width = misfit.shape, misfit.width
    if not sides or width not in USUAL_CHANNELS:
        return None
    if len(shape) == sides + 2 and shape[-1] == width and width not in shape[1:-1]:
        order = (0, sides + 1, *range(1, sides + 1))
        row = tuple(at - 1 for at in order[1:])
        return Layout(
            f".permute({', '.join(map(str, order))})",
            f".permute({', '.join(map(str, row))})",
            tuple(shape[at] for at in order),
            "its channels are last",
        )
    if len(shape) == sides + 1 and width == 1:
        new = (shape[0], 1, *shape[1:])
        return Layout(".unsqueeze(1)", ".unsqueeze(0)", new, "it has no axis for channels")
    return None
