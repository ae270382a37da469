"""Tensors of two devices or dtypes in one operation, as `laws.contracts.mixed_operands` has it."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.interpreter import violations
from surefit.interpreter.violations import SourceViolation
from surefit.interpreter.wording import expression_of, layer_name, operand_of
from surefit.laws.case import Case
from surefit.laws.contracts.mixed_operands import MoveDropped, PlainTensor, TwoDevices, TwoDtypes
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    use = expression_of(source, violation.node)
    match violation:
        case violations.DeviceMismatch(left_node=node, moved=moved):
            stray = operand_of(source, violation.left, node, violation.birth)
            stray = replace(stray, value=replace(stray.value, device="cpu"))
            yield TwoDevices(
                use=use,
                operation="",
                stray=stray,
                other=Operand(value=Value("", "Tensor", device=moved), name="what it meets"),
                takes=moved,
                plain=plain_tensor(source, node, stray),
            )
        case violations.LayerDtypeMismatch(layer=layer, tensor=tensor):
            takes, node = str(layer.dtype), tensor.node or violation.node
            name = layer_name(source, violation.node, layer)
            yield TwoDtypes(
                use=use,
                operation="linear",
                stray=operand_of(source, tensor, node, node),
                other=Operand(value=Value("", "Parameter", dtype=takes), name=name),
                takes=takes,
            )
        case violations.MoveDiscarded():
            yield MoveDropped(use=use)


def plain_tensor(source: Source, node: ast.AST, stray: Operand) -> PlainTensor | None:
    """The attribute of `self` that an expression reads, where its class sets it."""
    owner = next((up for up in source.up(node) if isinstance(up, ast.ClassDef)), None)
    read = {
        item.attr
        for item in ast.walk(node)
        if isinstance(item, ast.Attribute)
        and isinstance(item.value, ast.Name)
        and item.value.id == "self"
    }
    for statement in ast.walk(owner) if owner else ():
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if owner and isinstance(target, ast.Attribute) and target.attr in read:
                return PlainTensor(
                    target.attr, stray.shape, stray.dtype, "cpu", False, owner=owner.name
                )
    return None
