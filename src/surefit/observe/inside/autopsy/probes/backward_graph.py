"""What a failing backward pass was called on, and the state of the graph behind it."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.graphs import (
    changed_since,
    is_freed,
    is_leaf,
    nodes_below,
    roots_in,
    saved_in,
)
from surefit.observe.inside.autopsy.questions import Said

MOST_TOLD = 8


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    roots = roots_in(frames)
    if not roots:
        return None
    nodes = [node for node in nodes_below(one.grad_fn for one in roots) if not is_leaf(node)]
    changed = [(node, name, tensor) for node in nodes for name, tensor in changed_since(node)]
    freed = [is_freed(node) for node in nodes if any(True for _ in saved_in(node))]
    return {
        "roots": [
            {
                "shape": [int(size) for size in one.shape],
                "dtype": str(one.dtype).removeprefix("torch."),
                "grad": bool(one.requires_grad),
                "function": one.grad_fn.name() if one.grad_fn is not None else "",
            }
            for one in roots
        ],
        "nodes": len(nodes),
        "freed": sum(freed),
        "kept": len(freed) - sum(freed),
        "changed": [
            {
                "function": node.name(),
                "attribute": name,
                "shape": [int(size) for size in tensor.shape],
                "version": int(tensor._version),
            }
            for node, name, tensor in changed[:MOST_TOLD]
        ],
    }
