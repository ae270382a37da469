"""Integers in the user's source that stand for rows: what they are, and how a batch says them."""

import ast
from collections.abc import Iterator, Mapping
from math import prod

from surefit.doctor.observations import Frame, Value
from surefit.source.reading import Source

Leaf = ast.Constant | ast.Name | ast.Attribute | ast.Subscript


def evaluated(
    node: ast.expr, frame: Frame, instead: Mapping[ast.expr, int] | None = None
) -> int | None:
    """An integer, from constants and values of the frame; with other numbers for some nodes."""
    if instead and node in instead:
        return instead[node]
    match node:
        case ast.Constant(value=int(number)) if number is not True and number is not False:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = evaluated(inner, frame, instead)
            return None if value is None else -value
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = evaluated(left, frame, instead), evaluated(right, frame, instead)
            return None if first is None or second is None else computed(operator, first, second)
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return size_of(inner, 0, frame)
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[axis]):
            return size_of(inner, evaluated(axis, frame), frame)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=axis):
            return size_of(inner, evaluated(axis, frame), frame)
    known = frame.value(ast.unparse(node))
    scalar = known.scalar if known is not None else None
    if scalar is None and isinstance(node, ast.Attribute) and frame.layer and frame.arguments:
        owner = frame.arguments[0]
        scalar = frame.layer.sizes.get(node.attr) if ast.unparse(node.value) == owner else None
    return scalar if type(scalar) is int else None


def computed(operator: ast.operator, first: int, second: int) -> int | None:
    if isinstance(operator, ast.FloorDiv):
        return first // second if second else None
    results = {ast.Mult: first * second, ast.Add: first + second, ast.Sub: first - second}
    return results.get(type(operator))


def size_of(node: ast.expr, axis: int | None, frame: Frame) -> int | None:
    value = frame.value(ast.unparse(node))
    shape = value.shape if value is not None else None
    if value is None or axis is None or not -len(shape or ()) <= axis < len(shape or ()):
        return value.length if value is not None and shape is None and axis == 0 else None
    return shape[axis] if shape else None


def leaves(node: ast.AST) -> Iterator[Leaf]:
    """Numbers and names in an expression, the sizes of tensors left out."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size")):
            return
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
            yield node
            return
    for child in ast.iter_child_nodes(node):
        yield from leaves(child)


def fits(target: list[int], count: int) -> bool:
    """Whether so many elements can have this shape, of which one size can be -1."""
    known = prod(size for size in target if size != -1)
    if target.count(-1) == 1:
        return known > 0 and count % known == 0
    return -1 not in target and known == count


def with_rows(frame: Frame, rows: int, but: str = "") -> str | None:
    """How the frame can say so many rows: `x.size(0)`; arguments and first axes before others."""
    tensors = [value for value in frame.values if value.shape and rows in value.shape]
    named = [value for value in tensors if is_plain(value) and value.text != but]
    axes = [((value.shape or ()).index(rows), order(value, frame), value.text) for value in named]
    best = min(axes, key=lambda axis: axis[:2], default=None)
    return f"{best[2]}.size({best[0]})" if best is not None else None


def order(value: Value, frame: Frame) -> int:
    return (
        frame.arguments.index(value.text) if value.text in frame.arguments else len(value.text) + 50
    )


def is_plain(value: Value) -> bool:
    """A name, or an item of a batch: what can be asked for its size in one more word."""
    return value.kind == "Tensor" and "(" not in value.text and ":" not in value.text


def is_written_down(source: Source, node: ast.expr) -> bool:
    """`32`, `BATCH`, `args.batch_size`: a number that is not asked of a tensor."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        bound = [binder for binder in source.bound_by(node) if isinstance(binder, ast.Assign)]
        texts = [ast.unparse(binder) for binder in bound]
        return not any(word in text for text in texts for word in (".shape", ".size(", "len("))
    return isinstance(node, ast.Attribute | ast.Subscript) and ".shape" not in ast.unparse(node)


def constant(source: Source, node: ast.expr) -> int | None:
    """The integer that a name is bound to, where that is so just once."""
    value = source.value_of(node)
    number = value.value if isinstance(value, ast.Constant) else None
    return number if type(number) is int else None
