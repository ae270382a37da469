"""Widths and shapes that will not fit, as `surefit.laws.contracts` has them."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter import violations
from surefit.interpreter.methods import receiver_node
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import LayerValue
from surefit.interpreter.violations import SourceViolation
from surefit.interpreter.wording import (
    STAND_IN,
    describe_layer,
    expression_of,
    layer_name,
    line_at,
    operand_of,
    stand_in,
)
from surefit.laws.case import Case
from surefit.laws.contracts.divisions import IndivisibleWidth
from surefit.laws.contracts.masks import MaskAxes
from surefit.laws.contracts.products import InnerSizes, Turned
from surefit.laws.contracts.reshapes import ElementCount, NotContiguous, count_differs
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.laws.contracts.widths import CalledLayer, LayerWidth
from surefit.laws.frame_numbers import size_nodes
from surefit.laws.layer_tables import GIVES
from surefit.laws.ways import WidthSource
from surefit.source.reading import Source

NAMES = {"sum": "add", "cat": "cat", "stack": "stack"}
MAP_AXES = 4
"""Axes of pictures inside a network: rows, channels, height, width."""


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    use = expression_of(source, violation.node)
    match violation:
        case violations.WidthMismatch():
            yield layer_width(violation, case, source)
        case violations.JoinMismatch():
            yield from sizes_differ(violation, case, source)
        case violations.ProductMismatch(tensors=(first, second), nodes=(left, right)):
            yield InnerSizes(
                use=use,
                left=operand_of(source, first, left, left),
                right=operand_of(source, second, right, right),
                inner=(str(first.shape.size(-1)), str(second.shape.size(-2))),
                turns=tuple(turns(first.shape, second.shape)),
            )
        case violations.ReshapeMismatch(node=call):
            receiver = receiver_node(call) or call
            tensor = operand_of(source, violation.tensor, receiver, receiver)
            target = tuple(map(stand_in, violation.target))
            written = [case.expression(source, part) for part in size_nodes(call.args)]
            mismatches: Iterator[ElementCount] = count_differs(use, tensor, target, written)
            for broken in mismatches:
                if all(size < STAND_IN for size in (*broken.axes, *broken.asked)):
                    yield broken
        case violations.NonContiguousView(node=call):
            tensor = operand_of(
                source, violation.tensor, receiver_node(call) or call, violation.birth
            )
            yield NotContiguous(use=use, tensor=tensor, call=use.text)
        case violations.MaskMismatch():
            yield from mask_axes(violation, source)
        case violations.NotDivisible():
            yield IndivisibleWidth(
                use=use,
                width_name=violation.width_name,
                width=violation.width,
                parts_name=violation.count_name,
                parts=violation.count,
                checked=line_at(source, violation.node),
                parts_written=expression_of(source, violation.birth),
            )


def layer_width(violation: violations.WidthMismatch, case: Case, source: Source) -> Violation:
    node, layer, tensor = violation.node, violation.layer, violation.tensor
    argument = node.args[0] if isinstance(node, ast.Call) and node.args else node
    given = operand_of(source, tensor, argument, tensor.node or node)
    created = expression_of(source, layer.node)
    name, words = layer_name(source, node, layer), describe_layer(layer)
    return LayerWidth(
        use=expression_of(source, node),
        layer=CalledLayer(name, layer.kind, words, created),
        given=given,
        width=violation.takes,
        size=violation.has,
        axis=violation.axis + len(given.shape) if given.shape else violation.axis,
        source=width_source(case, source, tensor.source_layer),
    )


def width_source(case: Case, source: Source, layer: LayerValue | None) -> WidthSource | None:
    """The layer that gave a tensor its width, and the argument that says it."""
    if layer is None:
        return None
    created = expression_of(source, layer.node)
    name, position = GIVES.get(layer.kind, ("", None))
    argument = case.argument(created, name, position) if name else None
    return WidthSource(layer.kind, created, (argument,) if argument is not None else ())


def sizes_differ(
    violation: violations.JoinMismatch, case: Case, source: Source
) -> Iterator[Violation]:
    """Maps of different heights or widths, or different numbers of features that layers gave."""
    tensors = violation.tensors
    layers = [tensor.source_layer for tensor in tensors]
    maps = all(
        layer is not None and layer.kind.startswith("Conv") and tensor.shape.rank == MAP_AXES
        for layer, tensor in zip(layers, tensors, strict=True)
    )
    sides = maps and violation.axis in (-1, -2)
    if sides or (violation.axis == (-3 if maps else -1) and all(layers)):
        yield SizesDiffer(
            use=expression_of(source, violation.node),
            operation=NAMES[violation.how],
            operands=tuple(
                operand_of(source, tensor, node, node)
                for tensor, node in zip(tensors, violation.nodes, strict=True)
            ),
            dim=None,
            axes=(violation.axis,),
            of_maps=sides,
            sources=tuple(None if sides else width_source(case, source, layer) for layer in layers),
        )


def turns(left: Shape, right: Shape) -> Iterator[Turned]:
    if right.has(-2) and left.size(-1) == right.size(-1):
        yield "right"
    if left.has(-2) and left.size(-2) == right.size(-2):
        yield "left"


def mask_axes(violation: violations.MaskMismatch, source: Source) -> Iterator[Violation]:
    """Of a mask (N, S) for a tensor with more axes, whose first and last are these."""
    mask, sizes = violation.mask.shape, violation.tensor.shape
    if mask.rank != 2 or sizes.rank is None or sizes.rank < 3:
        return
    if (mask.size(0), mask.size(1)) == (sizes.size(0), sizes.size(-1)):
        yield MaskAxes(
            use=expression_of(source, violation.node),
            mask=operand_of(source, violation.mask, violation.mask_node, violation.birth),
            over=operand_of(source, violation.tensor, violation.node, violation.node),
            index=f"[:, {'None, ' * (sizes.rank - 2)}:]",
            meets=(str(mask.size(0)), sizes.rank - 2, str(sizes.size(-2))),
        )
