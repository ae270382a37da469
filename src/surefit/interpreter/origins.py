"""Where in the source a value came into being."""

import ast

from surefit.interpreter.values import (
    AbstractValue,
    BoundMethod,
    Constant,
    DictValue,
    InstanceValue,
    LayerValue,
    LibraryObject,
    LoaderValue,
    OptimizerStateValue,
    OptimizerValue,
    SequenceValue,
    StateDictValue,
    TensorValue,
)

WITH_NODE = (
    *(Constant, SequenceValue, TensorValue, LayerValue, InstanceValue, LibraryObject, LoaderValue),
    *(OptimizerValue, OptimizerStateValue, StateDictValue, DictValue),
)


def origin_of(value: AbstractValue | None) -> ast.AST | None:
    """The number that is written, the constructor, the operation; None where it is not known."""
    if isinstance(value, BoundMethod):
        return origin_of(value.receiver)
    return value.node if isinstance(value, WITH_NODE) else None


def origin_of_dtype(tensor: TensorValue) -> ast.AST | None:
    """The constructor or the cast that gave a tensor its dtype."""
    return tensor.dtype_at or tensor.node


def origin_of_width(tensor: TensorValue) -> ast.AST | None:
    """The layer that gave a tensor its last size, or the expression that created it."""
    return tensor.source_layer.node if tensor.source_layer else tensor.node
