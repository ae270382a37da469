"""What a loss will be called with, as `surefit.laws.contracts.losses` has it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from surefit.interpreter.values import TensorPair, TensorValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import operand_of, text_of
from surefit.laws.contracts.losses import LossArguments, TargetDtype, TargetShape
from surefit.laws.values.label_values import LabelValues

AxesFault = Literal["column", "square", "indices", "one hot", "classes last", "flattened"]
"""`column`: class indices as (rows, 1). `square`: (rows, 1) beside (rows,), compared entry by
entry. `indices`: (rows,) beside (rows, outputs) of a binary loss. `one hot`: integers in the
shape of the predictions. `classes last`: predictions (rows, steps, classes). `flattened`: one
side is, the other is not."""


@dataclass(frozen=True, slots=True)
class LossInputs:
    """What a loss is called with."""

    function: str
    """The function of `torch.nn.functional` that computes the same."""
    predictions: TensorValue
    predictions_node: ast.AST
    target: TensorValue
    target_node: ast.AST

    @property
    def tensors(self) -> TensorPair:
        return self.predictions, self.target


def target_dtype(at: Site, inputs: LossInputs, _: str) -> Iterator[LossArguments]:
    """The targets of a loss have a dtype that it does not take."""
    yield arguments(TargetDtype, at, inputs)


def target_axes(at: Site, inputs: LossInputs, how: AxesFault) -> Iterator[LossArguments]:
    """They have another number of axes than its predictions ask for."""
    found = arguments(TargetShape, at, inputs)
    yield replace(found, labels=one_hot(found.target.shape)) if how == "one hot" else found


def loss_shape(at: Site, inputs: LossInputs) -> Iterator[LossArguments]:
    """A loss compares two tensors entry by entry whose shapes do not fit; told where both are
    outputs of layers, and only how wide they are differs."""
    first, second = (side.shape.size(-1) for side in inputs.tensors)
    by_layers = all(side.source_layer is not None for side in inputs.tensors)
    if by_layers and None not in (first, second) and first != second:
        yield arguments(TargetShape, at, inputs)


def arguments(kind: type[LossArguments], at: Site, inputs: LossInputs) -> LossArguments:
    source, call = at.source, at.node
    target = operand_of(source, inputs.target, inputs.target_node, at.birth)
    return kind(
        use=at.use,
        loss=inputs.function,
        called=text_of(source, call.func if isinstance(call, ast.Call) else call),
        predictions=operand_of(source, inputs.predictions, inputs.predictions_node, call),
        target=target,
        labels=unknown_labels(target.shape),
    )


def unknown_labels(shape: tuple[int, ...]) -> LabelValues:
    """Nothing is known of their values but what they must be for the violation to be certain."""
    return LabelValues(prod(shape), total=0.0, whole=True, different=0, values=(), counts=())


def one_hot(shape: tuple[int, ...]) -> LabelValues:
    rows = prod(shape[:-1])
    known = unknown_labels(shape)
    return replace(known, rows=rows, indicator=True, fewest_ones=1, most_ones=1, single=rows)
