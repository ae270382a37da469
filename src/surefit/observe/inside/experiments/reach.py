"""How far before and after itself a position of attention sees."""

from typing import Any

from surefit.doctor.measures.experiments import Reach
from surefit.observe.inside.training import readable

SOFTMAX = "softmax"
TRUE_IS_SEEN = ("scaled_dot_product_attention",)
"""Of a mask of truth values; all other functions of torch hide where it is true."""
HIDDEN = -1e4
"""A number added to scores below which nothing is left of them."""


def reach_of(name: str, tensors: list[Any], result: Any, size: int) -> Reach | None:
    """Of weights (..., positions, positions), or of a mask of these sizes that attention is given;
    None where there is neither."""
    square = (size, size)
    if name == SOFTMAX and tuple(result.shape[-2:]) == square:
        visible = result.detach().reshape(-1, size, size) > 0
        return _reach(visible.any(0))
    if "attention" not in name and "transformer" not in name:
        return None
    masks = [tensor for tensor in tensors if tuple(tensor.shape[-2:]) == square]
    if len(masks) != 1:
        return None
    return _reach(_visible(name, masks[0]).reshape(-1, size, size).any(0))


def _visible(name: str, mask: Any) -> Any:
    if mask.dtype is not readable.torch().bool:
        return mask.detach() > HIDDEN
    return mask if name in TRUE_IS_SEEN else ~mask


def _reach(visible: Any) -> Reach | None:
    pairs = visible.nonzero()
    if not len(pairs):
        return None
    offsets = pairs[:, 1] - pairs[:, 0]
    return Reach(max(-int(offsets.min()), 0), max(int(offsets.max()), 0))
