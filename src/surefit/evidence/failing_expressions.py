"""What kind of expression failed, read from its text alone."""

import ast

from surefit.doctor.observations import Frame
from surefit.source.reading import called

TOGETHER = ("cat", "concat", "concatenate", "stack", "add", "sub", "mul", "hstack", "vstack")


def calls_or_adds(frame: Frame) -> bool:
    """It joins tensors or takes them together element by element."""
    node = parsed(frame.expression)
    if isinstance(node, ast.Call):
        return called(node) in TOGETHER
    return isinstance(node, ast.BinOp) or is_in_place(frame)


def assigned_to(frame: Frame) -> str | None:
    """The name that the failing expression is given to, if it is all that the statement does."""
    try:
        body = ast.parse(frame.line).body
    except SyntaxError:
        return None
    match body:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value)] if frame.expression:
            whole = parsed(frame.expression)
            return name if whole and ast.dump(whole) == ast.dump(value) else None
    return None


def is_in_place(frame: Frame) -> bool:
    """`x += y`, which is no expression."""
    try:
        body = ast.parse(frame.line).body
    except SyntaxError:
        return False
    return len(body) == 1 and isinstance(body[0], ast.AugAssign)


def parsed(text: str | None) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body if text else None
    except SyntaxError:
        return None
