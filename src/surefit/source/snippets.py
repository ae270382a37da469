"""Lines and expressions that were seen by themselves, without their file, parsed."""

import ast


def expression(text: str | None) -> ast.expr | None:
    """None where it is none: a statement, or a part of one."""
    try:
        return ast.parse((text or "").strip(), mode="eval").body
    except SyntaxError:
        return None


def statement(text: str) -> ast.stmt | None:
    """The first of a text; None for a part of one, such as the head of a block."""
    try:
        return next(iter(ast.parse(text.strip()).body), None)
    except SyntaxError:
        return None
