"""Tensors of two devices or dtypes in one operation, as `laws.contracts.mixed_operands` has it."""

from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.violations import (
    DeviceMismatch,
    LayerDtypeMismatch,
    MoveDiscarded,
    SourceViolation,
)
from surefit.interpreter.wording import attribute_assignment, layer_name
from surefit.laws.case import Case
from surefit.laws.contracts.mixed_operands import MoveDropped, PlainTensor, TwoDevices, TwoDtypes
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    match violation:
        case DeviceMismatch():
            yield devices(violation, source)
        case LayerDtypeMismatch():
            yield dtypes(violation, source)
        case MoveDiscarded(node=call):
            yield MoveDropped(use=expression_of(source, call))


def devices(violation: DeviceMismatch, source: Source) -> Violation:
    node = violation.left_node
    stray = operand_of(source, violation.left, node, violation.birth)
    stray = replace(stray, value=replace(stray.value, device="cpu"))
    assigned = attribute_assignment(source, node)
    plain = None
    if assigned is not None:
        owner, _, target = assigned
        plain = PlainTensor(target.attr, stray.shape, stray.dtype, "cpu", False, owner=owner.name)
    other = Value("", "Tensor", device=violation.moved)
    return TwoDevices(
        use=expression_of(source, violation.node),
        operation="",
        stray=stray,
        other=Operand(value=other, name="what it meets"),
        takes=violation.moved,
        plain=plain,
    )


def dtypes(violation: LayerDtypeMismatch, source: Source) -> Violation:
    takes = str(violation.layer.dtype)
    node = violation.tensor.node or violation.node
    name = layer_name(source, violation.node, violation.layer)
    return TwoDtypes(
        use=expression_of(source, violation.node),
        operation="linear",
        stray=operand_of(source, violation.tensor, node, node),
        other=Operand(value=Value("", "Parameter", dtype=takes), name=name),
        takes=takes,
    )
