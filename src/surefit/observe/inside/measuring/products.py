"""Whether logits are the product of what two parts of a model computed: every row against every."""

from typing import Any

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


def _is_of_two_parts(node: Any, name: str) -> bool:
    """No side is a weight; and no row has columns of its own, as in a product of batches."""
    if name.startswith("Bmm") and node._saved_self.shape[0] != 1:
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
