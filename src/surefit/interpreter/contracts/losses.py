"""What a loss will be called with, as `surefit.laws.contracts.losses` has it."""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.violations import Violation
from surefit.doctor.words import code
from surefit.interpreter.violations import (
    LossShapeMismatch,
    SourceViolation,
    TargetAxesMismatch,
    TargetDtypeMismatch,
)
from surefit.interpreter.wording import expression_of, operand_of
from surefit.laws.case import Case
from surefit.laws.contracts.losses import LossArguments, TargetDtype, TargetShape
from surefit.laws.label_values import LabelValues
from surefit.source.reading import Source

Mismatch = TargetDtypeMismatch | TargetAxesMismatch | LossShapeMismatch


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    if isinstance(violation, TargetDtypeMismatch):
        yield arguments(TargetDtype, violation, source)
    elif isinstance(violation, TargetAxesMismatch) or (
        isinstance(violation, LossShapeMismatch) and is_of_two_models(violation)
    ):
        yield arguments(TargetShape, violation, source)


def is_of_two_models(violation: LossShapeMismatch) -> bool:
    """Both sides are outputs of layers, and only how wide they are differs."""
    sides = violation.inputs.predictions, violation.inputs.target
    first, second = (side.shape.size(-1) for side in sides)
    by_layers = all(side.source_layer is not None for side in sides)
    return by_layers and None not in (first, second) and first != second


def arguments(kind: type[LossArguments], violation: Mismatch, source: Source) -> LossArguments:
    inputs = violation.inputs
    predictions = operand_of(source, inputs.predictions, inputs.predictions_node, violation.node)
    target = operand_of(source, inputs.target, inputs.target_node, violation.birth)
    call = violation.node
    name = source.segment(call.func if isinstance(call, ast.Call) else call)
    return kind(
        use=expression_of(source, call),
        loss=inputs.function,
        called=code(name),
        predictions=predictions,
        target=target,
        labels=labels_of(violation, target.shape),
    )


def labels_of(violation: Mismatch, shape: tuple[int, ...]) -> LabelValues:
    """Nothing is known of their values but what they must be for the violation to be certain."""
    one_hot = isinstance(violation, TargetAxesMismatch) and violation.how == "one hot"
    rows = prod(shape[:-1]) if one_hot else 0
    return LabelValues(
        elements=prod(shape),
        total=0.0,
        whole=True,
        different=0,
        values=(),
        counts=(),
        rows=rows,
        indicator=one_hot,
        fewest_ones=int(one_hot),
        most_ones=int(one_hot),
        single=rows,
    )
