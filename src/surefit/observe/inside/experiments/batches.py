"""Which axis of a model's inputs holds the rows of the batch."""

import inspect
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.experiments.live import Tree
from surefit.observe.inside.experiments.trees import Path, UnknownInputError

EDGES = 2
"""First axis of an edge index."""


class UnclearRowsError(Exception):
    """It cannot be told, or rows are linked; in words."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a model is called with, and where its rows lie."""

    tree: Tree
    rows: int
    axes: dict[Path, int]
    """Of each tensor, or list of plain values, that has rows."""

    def taken(self, chosen: list[int]) -> Tree:
        """These rows, in this order."""

        def pick(path: Path, value: Any) -> Any:
            axis = self.axes.get(path)
            if axis is None:
                return value
            if not is_tensor(value):
                return type(value)(value[at] for at in chosen)
            return value.index_select(axis, value.new_tensor(chosen, dtype=_long(value)))

        tree: Tree = trees.changed(self.tree, pick)
        return tree

    def sizes(self) -> set[int]:
        """Of every other axis."""
        return {
            int(size)
            for path, tensor in trees.tensors(self.tree).items()
            for axis, size in enumerate(tensor.shape)
            if axis != self.axes.get(path)
        }


def _long(tensor: Any) -> Any:
    import sys

    del tensor
    return sys.modules["torch"].long


def batch_of(tree: Tree, rows: int, from_loader: dict[int, int]) -> Batch:
    """`from_loader`: id of a tensor that a loader gave -> its axis of rows."""
    if rows < 2:
        raise UnclearRowsError("the batch has a single row")
    axes: dict[Path, int] = {}

    def look(path: Path, value: Any) -> Any:
        if not is_tensor(value):
            if len(value) == rows:
                axes[path] = 0
            return value
        axis = from_loader.get(id(value))
        if axis is None:
            axis = axis_of(value, rows)
        if axis is not None:
            axes[path] = axis
        return value

    try:
        trees.changed(tree, look)
    except UnknownInputError as error:
        raise UnclearRowsError(f"the model is given a `{error}`") from error
    if not any(is_tensor(value) for path, value in trees.leaves(tree) if path in axes):
        raise UnclearRowsError("no input has an axis of the batch's rows")
    return Batch(tree, rows, axes)


def axis_of(tensor: Any, rows: int) -> int | None:
    """None where it has no such axis; an exception where two could be it, or rows are linked."""
    shape = tuple(tensor.shape)
    if tensor.layout.__str__() != "torch.strided":
        raise UnclearRowsError("an input is sparse")
    linked = len(shape) == EDGES and shape[0] == EDGES and not tensor.is_floating_point()
    if linked and shape[1] != rows and rows != EDGES:
        raise UnclearRowsError("rows are linked by an index")
    if shape[:2] == (rows, rows):
        raise UnclearRowsError("two axes of an input are as long as the batch")
    if shape[:1] == (rows,):
        return 0
    if shape[1:2] != (rows,) or (len(shape) == EDGES and tensor.is_floating_point()):
        return None
    if shape[0] % rows == 0:
        raise UnclearRowsError("an input holds several times as many rows as the batch")
    return 1


def names(module: Any, tree: Tree) -> dict[Path, str]:
    """Names of the inputs, as the model's `forward` has them."""
    try:
        parameters = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        parameters = []
    found: dict[Path, str] = {}
    for path in dict(trees.leaves(tree)):
        top = path[1] if len(path) > 1 else ""
        if path[:1] == (0,) and isinstance(top, int):
            top = parameters[top] if top < len(parameters) else str(top)
        found[path] = ".".join(map(str, (top, *path[2:])))
    return found
