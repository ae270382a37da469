"""Tensors of read source as operands of a violation: sizes that are not known get a stand-in."""

import ast

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code
from surefit.interpreter.shapes import Shape, Size, SymbolicSize
from surefit.interpreter.values import TensorValue
from surefit.source.reading import Source

STAND_IN = 1_000_003
"""Numbers from here on stand for sizes that the source does not tell: rules compare sizes, and no
size that anybody writes is one of these. `Case.finding` puts `n` in their place."""


def expression_of(source: Source, node: ast.AST) -> Expression:
    """A node as plain data; of a statement only its place."""
    line = getattr(node, "lineno", None)
    place = Place(source.file, line, getattr(node, "end_lineno", line))
    span = source.span(node) if isinstance(node, ast.expr) else None
    return Expression(place, span, " ".join(source.segment(node).split()))


def operand_of(source: Source, tensor: TensorValue, node: ast.AST, birth: ast.AST) -> Operand:
    """`node`: the expression that hands it over."""
    use = expression_of(source, node)
    value = Value(use.text, "Tensor", shape=known_shape(tensor.shape), dtype=tensor.dtype)
    return Operand(
        value=value,
        name=code(use.text),
        use=use,
        birth=expression_of(source, birth),
        sizes=str(tensor.shape),
    )


def known_shape(shape: Shape) -> tuple[int, ...] | None:
    """None where the number of axes is not known."""
    return None if shape.more else tuple(map(stand_in, shape.sizes))


def stand_in(size: Size) -> int:
    if isinstance(size, int):
        return size
    return STAND_IN + 2 * size.number + 2 if isinstance(size, SymbolicSize) else STAND_IN
