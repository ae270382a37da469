"""Whether logits are the product of what two parts of a model computed: every row against every."""

from typing import Any

from surefit.observe.inside.training import readable

KEEPS = ("Mul", "Div", "Add", "TBackward", "Transpose", "Permute", "ToCopy", "Clamp")
"""Functions of a graph that scale a product, or turn it."""
SHAPES = ("View", "UnsafeView", "Reshape", "Squeeze", "Unsqueeze")
MOST_NODES = 8


def is_product(predictions: Any) -> bool:
    waiting = [predictions.grad_fn]
    for _ in range(MOST_NODES):
        node = waiting.pop(0) if waiting else None
        if node is None:
            return False
        name = node.name()
        if name.startswith(("MmBackward", "BmmBackward")):
            return _is_of_two_parts(node, name)
        if name.startswith((*KEEPS, *SHAPES)):
            waiting += [inner for inner, _ in node.next_functions if inner is not None]
    return False


def is_normalised_over_rows(predictions: Any) -> bool:
    """Both sides were divided by norms over another axis than the one that the product sums over:
    over the rows, while it sums over the features."""
    node = predictions.grad_fn
    for _ in range(MOST_NODES):
        if node is None:
            return False
        if node.name().startswith("MmBackward"):
            first, second = (inner for inner, _ in node.next_functions)
            return _norm_axis(first) == 0 and _norm_axis(second) == 1
        inner = [before for before, _ in node.next_functions if before is not None]
        known = node.name().startswith((*KEEPS, *SHAPES)) and len(inner) == 1
        node = inner[0] if known else None
    return False


def _norm_axis(node: Any) -> int | None:
    """The axis of a matrix that a norm was taken over by which it was divided."""
    turned = False
    for _ in range(MOST_NODES):
        if node is None or not node.name().startswith(("TBackward", "Transpose", "Permute")):
            break
        turned = not turned
        node = node.next_functions[0][0]
    if node is None or not node.name().startswith("DivBackward"):
        return None
    node = node.next_functions[1][0]
    for _ in range(MOST_NODES):
        if node is None or not node.name().startswith(("Expand", "Clamp", "Add", "ToCopy")):
            break
        node = node.next_functions[0][0]
    if node is None or not node.name().startswith(("LinalgVectorNorm", "NormBackward")):
        return None
    axes: tuple[int, ...] = getattr(node, "_saved_dim", None) or ()
    if len(axes) != 1:
        return None
    axis = (
        axes[0] - (1 << 64) if axes[0] >= 1 << 63 else axes[0]
    )  # a negative one, as torch saves it
    saved = readable.plain(node._saved_self)
    return int(axis % 2 != turned) if saved is not None and saved.dim() == 2 else None


def _is_of_two_parts(node: Any, name: str) -> bool:
    """No side is a weight; and no row has columns of its own, as in a product of batches."""
    if name.startswith("Bmm"):
        saved = readable.plain(node._saved_self)
        if saved is None or saved.shape[0] != 1:
            return False
    return all(_is_computed(inner) for inner, _ in node.next_functions)


def _is_computed(node: Any) -> bool:
    for _ in range(MOST_NODES):
        if node is None or node.name().endswith("AccumulateGrad"):
            return False
        if not node.name().startswith(("TBackward", "Transpose", "Permute", "ToCopy", *SHAPES)):
            return True
        node = node.next_functions[0][0]
    return False
