"""Widths and shapes that will not fit, as `surefit.laws.contracts` has them."""

import ast
from collections.abc import Iterator
from typing import Literal

from surefit.interpreter.shapes import Shape, Size
from surefit.interpreter.value_queries import receiver_node
from surefit.interpreter.values import LayerValue, NodePair, TensorPair, TensorValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import (
    STAND_IN,
    describe_layer,
    expression_of,
    layer_name,
    line_at,
    operand_of,
    stand_in,
)
from surefit.laws.contracts.divisions import IndivisibleWidth
from surefit.laws.contracts.masks import MaskAxes
from surefit.laws.contracts.products import InnerSizes, Turned
from surefit.laws.contracts.reshapes import ElementCount, NotContiguous, count_differs
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.laws.contracts.widths import CalledLayer, LayerWidth
from surefit.laws.layers.layer_tables import GIVES
from surefit.laws.layers.ways import WidthSource
from surefit.laws.values.frame_numbers import size_nodes

NAMES = {"sum": "add", "cat": "cat", "stack": "stack"}
MAP_AXES = 4
"""Axes of pictures inside a network: rows, channels, height, width."""


def inner_sizes(at: Site, tensors: TensorPair, nodes: NodePair) -> Iterator[InnerSizes]:
    """Two matrices whose inner sizes differ are multiplied."""
    (first, second), (left, right) = tensors, nodes
    yield InnerSizes(
        use=at.use,
        left=operand_of(at.source, first, left, left),
        right=operand_of(at.source, second, right, right),
        inner=(str(first.shape.size(-1)), str(second.shape.size(-2))),
        turns=tuple(turns(first.shape, second.shape)),
    )


def element_count(
    at: Site, tensor: TensorValue, target: tuple[Size, ...], args: list[ast.expr]
) -> Iterator[ElementCount]:
    """`view` or `reshape` asks for another number of elements."""
    receiver = receiver_node(at.node) or at.node
    operand = operand_of(at.source, tensor, receiver, receiver)
    written = [at.case.expression(at.source, part) for part in size_nodes(args)]
    for broken in count_differs(at.use, operand, tuple(map(stand_in, target)), written):
        if all(size < STAND_IN for size in (*broken.axes, *broken.asked)):
            yield broken


def not_contiguous(at: Site, tensor: TensorValue) -> Iterator[NotContiguous]:
    """`view` of a tensor that is not contiguous."""
    operand = operand_of(at.source, tensor, receiver_node(at.node) or at.node, at.birth)
    yield NotContiguous(use=at.use, tensor=operand, call=at.use.text)


def indivisible_width(
    at: Site, names: tuple[str, str], width: int, count: int
) -> Iterator[IndivisibleWidth]:
    """A width cannot be divided among heads or groups."""
    yield IndivisibleWidth(
        use=at.use,
        width_name=names[0],
        width=width,
        parts_name=names[1],
        parts=count,
        checked=line_at(at.source, at.node),
        parts_written=expression_of(at.source, at.birth),
    )


def layer_width(
    at: Site, layer: LayerValue, tensor: TensorValue, axis: int, takes: int, has: int
) -> Iterator[LayerWidth]:
    """A layer is called with another number of features than it takes."""
    source, node = at.source, at.node
    argument = node.args[0] if isinstance(node, ast.Call) and node.args else node
    given = operand_of(source, tensor, argument, tensor.node or node)
    created = expression_of(source, layer.node)
    name, words = layer_name(source, node, layer), describe_layer(layer)
    yield LayerWidth(
        use=at.use,
        layer=CalledLayer(name, layer.kind, words, created),
        given=given,
        width=takes,
        size=has,
        axis=axis + len(given.shape) if given.shape else axis,
        source=width_source(at, tensor.source_layer),
    )


def width_source(at: Site, layer: LayerValue | None) -> WidthSource | None:
    """The layer that gave a tensor its width, and the argument that says it."""
    if layer is None:
        return None
    created = expression_of(at.source, layer.node)
    name, position = GIVES.get(layer.kind, ("", None))
    argument = at.case.argument(created, name, position) if name else None
    return WidthSource(layer.kind, created, (argument,) if argument is not None else ())


def sizes_differ(
    at: Site,
    how: Literal["cat", "stack", "sum"],
    tensors: TensorPair,
    nodes: NodePair,
    axis: int,
) -> Iterator[SizesDiffer]:
    """Tensors that are joined or added have different sizes on an axis, counted from the last;
    told of maps of different heights or widths, and of numbers of features that layers gave."""
    layers = [tensor.source_layer for tensor in tensors]
    maps = all(
        layer is not None and layer.kind.startswith("Conv") and tensor.shape.rank == MAP_AXES
        for layer, tensor in zip(layers, tensors, strict=True)
    )
    sides = maps and axis in (-1, -2)
    if sides or (axis == (-3 if maps else -1) and all(layers)):
        yield SizesDiffer(
            use=at.use,
            operation=NAMES[how],
            operands=tuple(
                operand_of(at.source, tensor, node, node)
                for tensor, node in zip(tensors, nodes, strict=True)
            ),
            dim=None,
            axes=(axis,),
            of_maps=sides,
            sources=tuple(None if sides else width_source(at, layer) for layer in layers),
        )


def turns(left: Shape, right: Shape) -> Iterator[Turned]:
    if right.has(-2) and left.size(-1) == right.size(-1):
        yield "right"
    if left.has(-2) and left.size(-2) == right.size(-2):
        yield "left"


def mask_axes(
    at: Site, tensor: TensorValue, mask: TensorValue, mask_node: ast.AST
) -> Iterator[MaskAxes]:
    """A mask does not fit the tensor that it is applied to; told of a mask (N, S) for a tensor with
    more axes, whose first and last are these."""
    covers, sizes = mask.shape, tensor.shape
    if covers.rank != 2 or sizes.rank is None or sizes.rank < 3:
        return
    if (covers.size(0), covers.size(1)) == (sizes.size(0), sizes.size(-1)):
        yield MaskAxes(
            use=at.use,
            mask=operand_of(at.source, mask, mask_node, at.birth),
            over=operand_of(at.source, tensor, at.node, at.node),
            index=f"[:, {'None, ' * (sizes.rank - 2)}:]",
            meets=(str(covers.size(0)), sizes.rank - 2, str(sizes.size(-2))),
        )
