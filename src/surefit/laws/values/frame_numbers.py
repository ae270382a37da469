"""Integers that an expression of a frame evaluates to, computed from what the frame holds."""

import ast
from collections.abc import Mapping

from surefit.doctor.observations import Frame, Value
from surefit.source.evaluation import Known, NotKnown, constant, integer


def tensor_in(frame: Frame | None, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    values = (value for value in (frame.values if frame else ()) if value.text == text)
    return next((value for value in values if value.shape is not None), None)


def integer_in(
    frame: Frame, node: ast.expr, instead: Mapping[ast.expr, int] | None = None
) -> int | None:
    """From constants and values of the frame; with other numbers for some nodes."""

    def known(part: ast.expr) -> Known:
        number = instead[part] if instead and part in instead else number_in(frame, part)
        if number is None:
            raise NotKnown
        return number

    return integer(node, known)


def number_in(frame: Frame, node: ast.expr) -> Known:
    match node:
        case ast.Constant():
            return constant(node)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.expr() as at):
            return size_in(frame, inner, integer_in(frame, at))
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[at]):
            return size_in(frame, inner, integer_in(frame, at))
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return size_in(frame, inner, 0)
    value = frame.value(ast.unparse(node))
    scalar = value.scalar if value is not None else None
    if scalar is None and isinstance(node, ast.Attribute) and frame.layer and frame.arguments:
        of_layer = ast.unparse(node.value) == frame.arguments[0]
        scalar = frame.layer.sizes.get(node.attr) if of_layer else None
    return scalar if type(scalar) is int else None


def size_in(frame: Frame, node: ast.expr, axis: int | None) -> int | None:
    """Along an axis of a tensor; of a list its length."""
    value = tensor_in(frame, node) or frame.value(ast.unparse(node))
    if value is None or axis is None:
        return None
    sizes = value.shape if value.shape is not None else (value.length,)
    return sizes[axis] if -len(sizes) <= axis < len(sizes) else None


def sizes_in(frame: Frame, args: list[ast.expr]) -> tuple[int, ...] | None:
    """The shape that a call of `view` or `reshape` asks for, where every size can be read."""
    numbers = [integer_in(frame, part) for part in size_nodes(args)]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None


def size_nodes(args: list[ast.expr]) -> list[ast.expr]:
    return args[0].elts if args and isinstance(args[0], ast.Tuple | ast.List) else args
