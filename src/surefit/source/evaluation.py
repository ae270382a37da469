"""The plain value that an expression comes to, by what is known of its parts."""

import ast
import operator
from collections.abc import Callable

Known = float | bool | list[float] | None
Lookup = Callable[[ast.expr], Known]
"""The value of a name, a call, an attribute; raises `NotKnown`."""
OPERATORS: dict[type[ast.AST], Callable[..., Known]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class NotKnown(Exception):  # noqa: N818 - it says that, and ends nothing
    """An expression that needs more than is known."""


def evaluated(node: ast.expr, known: Lookup) -> Known:
    """Raises `NotKnown`."""
    try:
        return _evaluated(node, known)
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise NotKnown from error


def _evaluated(node: ast.expr, known: Lookup) -> Known:
    match node:
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(op, known, operand)
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ):
            return _applied(op, known, left, right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _evaluated(body if _evaluated(test, known) else orelse, known)
        case ast.BoolOp(op=op, values=values):
            return _decided(isinstance(op, ast.Or), values, known)
    return known(node)


def _applied(op: ast.AST, known: Lookup, *operands: ast.expr) -> Known:
    if type(op) not in OPERATORS:
        raise NotKnown
    return OPERATORS[type(op)](*(_evaluated(operand, known) for operand in operands))


def _decided(by: bool, values: list[ast.expr], known: Lookup) -> bool:
    """Of `a and b`, `a or b` whether it is true: one part can decide while another is not known."""
    unknown = False
    for value in values:
        try:
            if bool(_evaluated(value, known)) is by:
                return by
        except NotKnown:
            unknown = True
    if unknown:
        raise NotKnown
    return not by


def integer(node: ast.expr, known: Lookup) -> int | None:
    try:
        value = evaluated(node, known)
    except NotKnown:
        return None
    return value if type(value) is int else None


def constant(node: ast.expr) -> Known:
    """A number, True, False or None that is written out."""
    match node:
        case ast.Constant(value=bool() | int() | float() | None as value):
            return value
    raise NotKnown
