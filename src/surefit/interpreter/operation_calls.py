"""The call of an operation of torch on a tensor; tensors that hold the numbers of another one."""

import ast
from dataclasses import dataclass

from surefit.interpreter.devices import INTEGRAL
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import operation_result, without_graph
from surefit.interpreter.shapes import Shape, Size
from surefit.interpreter.value_queries import Arguments, shape_from
from surefit.interpreter.values import TensorValue


def copy_bounds(tensor: TensorValue, result: TensorValue) -> None:
    result.low, result.high = tensor.low, tensor.high
    result.counts, result.everywhere = tensor.counts, tensor.everywhere
    result.padding = tensor.padding
    result.one_hot, result.flattened = tensor.one_hot, tensor.flattened


def copy_tensor(
    run: Evaluator,
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


def view_tensor(run: Evaluator, tensor: TensorValue, shape: Shape, node: ast.AST) -> TensorValue:
    """The same numbers in the same memory; a last size that changes is no layer's any more."""
    result = copy_tensor(run, tensor, node, shape)
    result.view_of = tensor
    return result


def cast_tensor(run: Evaluator, tensor: TensorValue, dtype: str, node: ast.AST) -> TensorValue:
    if dtype in INTEGRAL:
        result = without_graph(tensor, node, tensor.shape, dtype)
        copy_bounds(tensor, result)
    else:
        result = copy_tensor(run, tensor, node, dtype=dtype)
    if dtype in ("bool", "uint8"):
        result.low = result.high = None
    return result


@dataclass(frozen=True, slots=True)
class OperationCall:
    """`x.sum(1)` and `torch.sum(x, 1)` alike: the tensor is the first argument."""

    run: Evaluator
    name: str
    tensor: TensorValue
    arguments: Arguments
    node: ast.AST

    def result(
        self, shape: Shape, *others: TensorValue, dtype: str | None = None, keeps: bool = True
    ) -> TensorValue:
        """What is recorded for the tensor and others; the tensor's dtype if it stands alone."""
        if dtype is None and not others:
            dtype = self.tensor.dtype
        inputs = [self.tensor, *others]
        return operation_result(self.run, self.node, shape, inputs, dtype, keeps=keeps)

    def view(self, shape: Shape) -> TensorValue:
        """The same numbers; their last size is still that of a layer where it is the same."""
        result = view_tensor(self.run, self.tensor, shape, self.node)
        if shape.size(-1) != self.tensor.shape.size(-1):
            result.source_layer = None
        return result

    def without_graph(self, shape: Shape, dtype: str | None) -> TensorValue:
        return without_graph(self.tensor, self.node, shape, dtype)

    def sizes(self, name: str) -> tuple[Size, ...] | None:
        """`(4, 10)`, `((4, 10),)` and `name=(4, 10)` alike; None where they are not known."""
        values = self.arguments.positional[1:]
        if not values and name in self.arguments.named:
            values = [self.arguments.named[name]]
        return None if self.arguments.open else shape_from(values)

    @property
    def has_dim(self) -> bool:
        return len(self.arguments.positional) > 1 or "dim" in self.arguments.named
