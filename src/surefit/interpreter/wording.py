"""Violations of a script that is only read: words and operands for what they are about."""

import ast

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code
from surefit.interpreter.layer_tables import ARGUMENTS
from surefit.interpreter.shapes import Size, SymbolicSize
from surefit.interpreter.values import LayerValue, TensorValue
from surefit.source.reading import Source

ONLY_READ = "the script was read, not run"


def place_of(source: Source, node: ast.AST) -> Place:
    line = getattr(node, "lineno", None)
    return Place(source.file, line, getattr(node, "end_lineno", line))


def text_of(source: Source, node: ast.AST) -> str:
    """As it is written, on one line, in backticks."""
    return code(source.segment(node))


def line_at(source: Source, node: ast.AST) -> str:
    """`train.py:12  loss = ...`."""
    statement = source.statement_of(node)
    text = statement if not hasattr(statement, "body") else node
    return f"{source.file}:{getattr(node, 'lineno', 0)}  {' '.join(source.segment(text).split())}"


def layer_name(source: Source, node: ast.AST, layer: LayerValue) -> str:
    """What the source calls a layer where it is called; how it is made where it has no name."""
    if isinstance(node, ast.Call) and node is not layer.node:
        return text_of(source, node.func)
    return text_of(source, layer.node)


FROM_TO = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding")


def describe_layer(layer: LayerValue) -> str:
    """`Linear(32 → 40)`, `Embedding(300, 48)`."""
    if layer.kind in FROM_TO:
        sizes = [layer.number(name) for name in ARGUMENTS[layer.kind][:2]]
        between = ", " if layer.kind == "Embedding" else " → "
        shown = ["?" if size is None else str(size) for size in sizes]
        return f"{layer.kind}({between.join(shown)})"
    numbers = [str(number) for name in layer.arguments if (number := layer.number(name))]
    return f"{layer.kind}({', '.join(numbers[:2])})"


STAND_IN = 1_000_003
"""Numbers from here on stand for sizes that the source does not tell: rules compare sizes, and no
size that anybody writes is one of these. `Case.finding` puts `n` in their place."""


def expression_of(source: Source, node: ast.AST) -> Expression:
    """A node as plain data; of a statement only its place."""
    span = source.span(node) if isinstance(node, ast.expr) else None
    return Expression(place_of(source, node), span, " ".join(source.segment(node).split()))


def operand_of(source: Source, tensor: TensorValue, node: ast.AST, birth: ast.AST) -> Operand:
    """`node`: the expression that hands it over."""
    use = expression_of(source, node)
    shape = None if tensor.shape.more else tuple(map(stand_in, tensor.shape.sizes))
    value = Value(use.text, "Tensor", shape=shape, dtype=tensor.dtype)
    return Operand(
        value=value,
        name=code(use.text),
        use=use,
        birth=expression_of(source, birth),
        sizes=str(tensor.shape),
    )


def stand_in(size: Size) -> int:
    if isinstance(size, int):
        return size
    return STAND_IN + 2 * size.number + 2 if isinstance(size, SymbolicSize) else STAND_IN
