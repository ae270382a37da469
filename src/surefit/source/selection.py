"""What a search gives: nodes of one kind below another, and the only one of several."""

import ast
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from surefit.source.reading import called

Kind = TypeVar("Kind", bound=ast.AST)
Thing = TypeVar("Thing")


def nodes_within(node: ast.AST, kind: type[Kind]) -> Iterator[Kind]:
    """Itself, too, in the order of `ast.walk`: outer ones before inner ones."""
    return (inner for inner in ast.walk(node) if isinstance(inner, kind))


def calls_within(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """By the last part of what is called: `backward` for `loss.backward()`."""
    return (call for call in nodes_within(node, ast.Call) if called(call) in names)


def the_only(things: Iterable[Thing]) -> Thing | None:
    """None where there are several, or none."""
    first = list(islice(things, 2))
    return first[0] if len(first) == 1 else None
