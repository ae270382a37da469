"""Layers that are given another width, as `surefit.laws.contracts.widths` has them."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter import wording
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.values import LayerValue
from surefit.interpreter.violations import SourceViolation, WidthMismatch
from surefit.laws.case import Case
from surefit.laws.contracts.widths import CalledLayer, LayerWidth
from surefit.laws.layer_tables import GIVES
from surefit.laws.ways import WidthSource
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    if not isinstance(violation, WidthMismatch):
        return
    node, layer, tensor = violation.node, violation.layer, violation.tensor
    is_call = isinstance(node, ast.Call) and bool(node.args)
    argument = node.args[0] if is_call and isinstance(node, ast.Call) else node
    given = operand_of(source, tensor, argument, tensor.node or node)
    yield LayerWidth(
        use=expression_of(source, node),
        layer=CalledLayer(
            wording.layer_name(source, node, layer),
            layer.kind,
            wording.describe_layer(layer),
            expression_of(source, layer.node),
        ),
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
