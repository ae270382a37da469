"""What a loss will be called with, as `surefit.laws.contracts.losses` has it."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from surefit.doctor.violations import Violation
from surefit.interpreter.violations import (
    LossShapeMismatch,
    SourceViolation,
    TargetAxesMismatch,
    TargetDtypeMismatch,
)
from surefit.interpreter.wording import expression_of, operand_of, text_of
from surefit.laws.case import Case
from surefit.laws.contracts.losses import LossArguments, TargetDtype, TargetShape
from surefit.laws.label_values import LabelValues
from surefit.source.reading import Source

Mismatch = TargetDtypeMismatch | TargetAxesMismatch | LossShapeMismatch


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    match violation:
        case TargetDtypeMismatch():
            yield arguments(TargetDtype, violation, source)
        case TargetAxesMismatch():
            yield arguments(TargetShape, violation, source)
        case LossShapeMismatch() if is_of_two_models(violation):
            yield arguments(TargetShape, violation, source)


def is_of_two_models(violation: LossShapeMismatch) -> bool:
    """Both sides are outputs of layers, and only how wide they are differs."""
    sides = violation.inputs.tensors
    first, second = (side.shape.size(-1) for side in sides)
    by_layers = all(side.source_layer is not None for side in sides)
    return by_layers and None not in (first, second) and first != second


def arguments(kind: type[LossArguments], violation: Mismatch, source: Source) -> LossArguments:
    inputs = violation.inputs
    call = violation.node
    target = operand_of(source, inputs.target, inputs.target_node, violation.birth)
    return kind(
        use=expression_of(source, call),
        loss=inputs.function,
        called=text_of(source, call.func if isinstance(call, ast.Call) else call),
        predictions=operand_of(source, inputs.predictions, inputs.predictions_node, call),
        target=target,
        labels=labels_of(violation, target.shape),
    )


def labels_of(violation: Mismatch, shape: tuple[int, ...]) -> LabelValues:
    """Nothing is known of their values but what they must be for the violation to be certain."""
    known = LabelValues(prod(shape), total=0.0, whole=True, different=0, values=(), counts=())
    if not isinstance(violation, TargetAxesMismatch) or violation.how != "one hot":
        return known
    rows = prod(shape[:-1])
    return replace(known, rows=rows, indicator=True, fewest_ones=1, most_ones=1, single=rows)
