"""The shape that a call of `view` or `reshape` asks for, computed from what its frame knows."""

import ast
from dataclasses import dataclass
from math import prod

from surefit.doctor.observations import Frame, Value
from surefit.evidence.failing_expressions import parsed
from surefit.source.reading import called

RESHAPES = ("view", "reshape")


@dataclass(frozen=True, slots=True)
class Asked:
    """A tensor, the sizes that it was to get, and how the source writes them."""

    text: str
    shape: tuple[int, ...]
    target: tuple[int, ...]
    written: tuple[ast.expr, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def fits(self) -> bool:
        known = prod(size for size in self.target if size != -1)
        if -1 in self.target:
            return known > 0 and self.elements % known == 0
        return known == self.elements


def is_reshape(frame: Frame) -> bool:
    node = parsed(frame.expression)
    return isinstance(node, ast.Call) and called(node) in RESHAPES


def asked_in(frame: Frame, shape: tuple[int, ...] | None) -> Asked | None:
    """Of the failing expression, if it is such a call and every size can be read; `shape`: of what
    it is called on, where that has no name."""
    node = parsed(frame.expression)
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args) if (
            name in RESHAPES and args and not node.keywords
        ):
            value = tensor(receiver, frame)
            parts = args[0].elts if isinstance(args[0], ast.Tuple | ast.List) else args
            sizes = [number(part, frame) for part in parts]
            known = [size for size in sizes if size is not None]
            has = value.shape if value is not None else shape
            if has is None or len(known) != len(sizes):
                return None
            return Asked(ast.unparse(receiver), has, tuple(known), tuple(parts))
    return None


def tensor(node: ast.expr, frame: Frame) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text and one.shape is not None), None)


def number(node: ast.expr, frame: Frame) -> int | None:
    match node:
        case ast.Constant(value=int(given)):
            return given
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            size = number(inner, frame)
            return None if size is None else -size
        case ast.BinOp(left=left, op=operator, right=right):
            return computed(number(left, frame), operator, number(right, frame))
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.expr() as at):
            return size_at(inner, at, frame)
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[at]):
            return size_at(inner, at, frame)
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return size_at(inner, ast.Constant(0), frame)
    found = next((one.scalar for one in frame.values if one.text == ast.unparse(node)), None)
    return found if type(found) is int else None


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
    return None


def size_at(node: ast.expr, at: ast.expr, frame: Frame) -> int | None:
    value, axis = tensor(node, frame), number(at, frame)
    if value is None or value.shape is None or axis is None:
        return None
    return value.shape[axis] if -len(value.shape) <= axis < len(value.shape) else None
