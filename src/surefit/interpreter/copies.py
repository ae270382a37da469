"""Tensors that hold the numbers of another one: views, copies, casts."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.dtypes import INTEGRAL
from surefit.interpreter.graphs import operation_result, without_graph
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import TensorValue

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def copy_bounds(tensor: TensorValue, result: TensorValue) -> None:
    result.low, result.high = tensor.low, tensor.high
    result.counts, result.everywhere = tensor.counts, tensor.everywhere
    result.padding = tensor.padding
    result.one_hot, result.flattened = tensor.one_hot, tensor.flattened


def copy_tensor(
    run: "Evaluator",
    tensor: TensorValue,
    node: ast.AST,
    shape: Shape | None = None,
    dtype: str | None = None,
) -> TensorValue:
    """The same numbers, in another shape or dtype."""
    shape = tensor.shape if shape is None else shape
    result = operation_result(run, node, shape, [tensor], dtype or tensor.dtype, keeps=False)
    result.source_layer, result.unreduced = tensor.source_layer, tensor.unreduced
    copy_bounds(tensor, result)
    return result


def view_tensor(run: "Evaluator", tensor: TensorValue, shape: Shape, node: ast.AST) -> TensorValue:
    """The same numbers in the same memory; a last size that changes is no layer's any more."""
    result = copy_tensor(run, tensor, node, shape)
    result.view_of = tensor
    return result


def cast_tensor(run: "Evaluator", tensor: TensorValue, dtype: str, node: ast.AST) -> TensorValue:
    if dtype in INTEGRAL:
        result = without_graph(tensor, node, tensor.shape, dtype)
        copy_bounds(tensor, result)
    else:
        result = copy_tensor(run, tensor, node, dtype=dtype)
    if dtype in ("bool", "uint8"):
        result.low = result.high = None
    return result
