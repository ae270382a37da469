"""Integers that an expression of a frame evaluates to, computed from what the frame holds."""

import ast

from surefit.doctor.observations import Frame, Value


def tensor_in(frame: Frame | None, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    values = (value for value in (frame.values if frame else ()) if value.text == text)
    return next((value for value in values if value.shape is not None), None)


def integer_in(frame: Frame, node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number_inside = integer_in(frame, inner)
            return None if number_inside is None else -number_inside
        case ast.BinOp(left=left, op=operator, right=right):
            return computed(integer_in(frame, left), operator, integer_in(frame, right))
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.expr() as at):
            return size_at(frame, inner, at)
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[at]):
            return size_at(frame, inner, at)
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return size_at(frame, inner, ast.Constant(0))
    value = frame.value(ast.unparse(node))
    return value.scalar if value is not None and type(value.scalar) is int else None


def computed(left: int | None, operator: ast.operator, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match operator:
        case ast.Mult():
            return left * right
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.FloorDiv() if right:
            return left // right
        case ast.Pow() if 0 <= right < 8:
            return int(left**right)
    return None


def size_at(frame: Frame, node: ast.expr, at: ast.expr) -> int | None:
    value, axis = tensor_in(frame, node), integer_in(frame, at)
    if value is None or value.shape is None or axis is None:
        return None
    return value.shape[axis] if -len(value.shape) <= axis < len(value.shape) else None


def sizes_in(frame: Frame, args: list[ast.expr]) -> tuple[int, ...] | None:
    """The shape that a call of `view` or `reshape` asks for, where every size can be read."""
    numbers = [integer_in(frame, part) for part in size_nodes(args)]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None


def size_nodes(args: list[ast.expr]) -> list[ast.expr]:
    return args[0].elts if args and isinstance(args[0], ast.Tuple | ast.List) else args
