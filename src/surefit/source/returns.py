"""What a function gives back."""

import ast
from collections.abc import Iterator

from surefit.source.classes import Method
from surefit.source.reading import Function


def own_returns(function: Method) -> Iterator[ast.Return]:
    """Not those of functions inside it."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, Function | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)


def gives_one_by_one(function: Method) -> bool:
    """It has a `yield`: a call gives back a generator."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)
    return False
