"""Writing in place."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.values import TensorValue
from surefit.interpreter.violations import LeafModifiedInPlace

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def write_in_place(run: "Evaluator", tensor: TensorValue, node: ast.AST, target: ast.AST) -> None:
    """As an augmented assignment or a method whose name ends in `_` does it."""
    if tensor.leaf and tensor.graph is True and run.graphs.recording is True:
        if not tensor.modified and not tensor.grad_switched:
            run.report(LeafModifiedInPlace(node, target, tensor))
        return
    bump_version(run, tensor, node)


def bump_version(run: "Evaluator", tensor: TensorValue, node: ast.AST) -> None:
    run.set(tensor, "version", tensor.version + 1)
    run.set(tensor, "written_at", node)
    tensor.low = tensor.high = None


def mark_modified(run: "Evaluator", tensor: TensorValue) -> None:
    """Something that is not known was written into it, or into a view of it."""
    base: TensorValue | None = tensor
    while base is not None:
        run.set(base, "modified", True)
        base.low = base.high = None
        base = base.view_of
