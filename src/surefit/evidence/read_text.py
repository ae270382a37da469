"""Texts among the values of a script that is only read."""

import ast

from surefit.evidence.read_tokenizers import tokenizer_made
from surefit.source.classes import Method
from surefit.source.definitions import definition
from surefit.source.reading import Source, dotted

MAKES_TEXT = ("strip", "lower", "upper", "join", "format", "replace", "title", "decode")


def is_text(source: Source, node: ast.expr, deep: int = 0) -> bool:
    """A text that is written out or made by a method of texts, or what a tokenizer is given alone
    in the same function."""
    if deep > 6:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and node.func.attr in MAKES_TEXT
        return method or dotted(node.func) == "str"
    if isinstance(node, ast.Name):
        made = definition(source, node)
        known = made is not None and is_text(source, made, deep + 1)
        return known or is_tokenized(source, node)
    return is_tokenized(source, node)


def is_tokenized(source: Source, node: ast.expr) -> bool:
    """The same expression is what a tokenizer is given, in the same function."""
    scope, written = source.scope_of(node), ast.dump(node)
    if not isinstance(scope, Method):
        return False
    return any(
        isinstance(call, ast.Call)
        and bool(call.args)
        and ast.dump(call.args[0]) == written
        and tokenizer_made(source, call.func) is not None
        for call in ast.walk(scope)
    )
