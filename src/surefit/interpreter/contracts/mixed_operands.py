"""Tensors of two devices or dtypes in one operation, as `laws.contracts.mixed_operands` has it."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand
from surefit.interpreter.values import LayerValue, TensorValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import layer_name, operand_of
from surefit.laws.contracts.mixed_operands import MoveDropped, PlainTensor, TwoDevices, TwoDtypes
from surefit.source.reading import Source
from surefit.source.selection import nodes_within


def two_devices(at: Site, tensor: TensorValue, node: ast.AST, moved: str) -> Iterator[TwoDevices]:
    """An operation takes tensors of two devices."""
    stray = operand_of(at.source, tensor, node, at.birth)
    stray = replace(stray, value=replace(stray.value, device="cpu"))
    yield TwoDevices(
        use=at.use,
        operation="",
        stray=stray,
        other=Operand(value=Value("", "Tensor", device=moved), name="what it meets"),
        takes=moved,
        plain=plain_tensor(at.source, node, stray),
    )


def two_dtypes(at: Site, layer: LayerValue, tensor: TensorValue) -> Iterator[TwoDtypes]:
    """A layer is given a tensor of another dtype than its weights have."""
    takes, node = str(layer.dtype), tensor.node or at.node
    name = layer_name(at.source, at.node, layer)
    yield TwoDtypes(
        use=at.use,
        operation="linear",
        stray=operand_of(at.source, tensor, node, node),
        other=Operand(value=Value("", "Parameter", dtype=takes), name=name),
        takes=takes,
    )


def move_dropped(at: Site) -> Iterator[MoveDropped]:
    """A statement moves a tensor and drops the result."""
    yield MoveDropped(use=at.use)


def plain_tensor(source: Source, node: ast.AST, stray: Operand) -> PlainTensor | None:
    """The attribute of `self` that an expression reads, where its class sets it."""
    owner = source.class_around(node)
    read = {
        item.attr
        for item in nodes_within(node, ast.Attribute)
        if isinstance(item.value, ast.Name) and item.value.id == "self"
    }
    for statement in ast.walk(owner) if owner else ():
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if owner and isinstance(target, ast.Attribute) and target.attr in read:
                return PlainTensor(
                    target.attr, stray.shape, stray.dtype, "cpu", False, owner=owner.name
                )
    return None
