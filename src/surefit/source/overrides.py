"""Methods that a class overrides: what the library's own one takes and returns, by its source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from surefit.source.classes import Method, named_class
from surefit.source.comma_lists import CLOSE, OPEN, CommaList, between, between_commas, span_of
from surefit.source.installed import MOST_HOPS, Defined, base_of, find, own_method
from surefit.source.reading import Source
from surefit.source.returns import own_returns


@dataclass(frozen=True, slots=True)
class Overridden:
    """A method of a library's class that a class of the user's has, too."""

    owner: str
    function: ast.FunctionDef


def overridden(source: Source, owner: ast.ClassDef, name: str) -> Overridden | None:
    """In the libraries that a class is made from, also through classes of the same file."""
    for base in owner.bases:
        below = named_class(source, base)
        if below is not None and below is not owner:
            known = overridden(source, below, name)
        else:
            full = source.imported(base)
            known = in_library(find(full) if full else None, name)
        if known is not None:
            return known
    return None


def in_library(defined: Defined | None, name: str, deep: int = 0) -> Overridden | None:
    if defined is None or not isinstance(defined.node, ast.ClassDef) or deep > MOST_HOPS:
        return None
    function = own_method(defined, name)
    if function is not None:
        return Overridden(defined.node.name, function)
    above = (in_library(base_of(defined, base), name, deep + 1) for base in defined.node.bases)
    return next((known for known in above if known is not None), None)


def positional(function: Method) -> list[ast.arg]:
    """Parameters that a caller fills by position, without `self`."""
    listed = [*function.args.posonlyargs, *function.args.args]
    plain = any(
        isinstance(decorator, ast.Name) and decorator.id == "staticmethod"
        for decorator in function.decorator_list
    )
    return listed if plain else listed[1:]


def signature(function: Method) -> str:
    """`(self, model, inputs, return_outputs=False)`, without annotations."""
    listed = ast.parse(f"def f({ast.unparse(function.args)}): ...").body[0]
    assert isinstance(listed, ast.FunctionDef)
    for node in ast.walk(listed.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return f"({ast.unparse(listed.args)})"


def parameters(source: Source, function: Method) -> CommaList:
    """Of a `def`, in the order of writing; `/`, `*` and `**more` are items, too."""
    begin = (function.lineno, 0)
    tokens = [token for token in source.tokens if token.start >= begin]
    first = next(at for at, token in enumerate(tokens) if token.string == "(")
    depths = accumulate(
        (token.string in OPEN) - (token.string in CLOSE) for token in tokens[first:]
    )
    last = first + next(at for at, depth in enumerate(depths) if depth == 0)
    nodes = [*function.args.defaults, *(node for node in function.args.kw_defaults if node)]
    inside = between_commas(tokens[first + 1 : last], [source.span(node) for node in nodes])
    items = tuple(span_of(part) for part in inside)
    return CommaList(items, between(tokens[first].end, tokens[last].start))


def branches(node: ast.expr) -> Iterator[ast.expr]:
    """`a if x else b` is `a` or `b`."""
    if isinstance(node, ast.IfExp):
        yield from branches(node.body)
        yield from branches(node.orelse)
    else:
        yield node


@dataclass(frozen=True, slots=True)
class ReturnedOnRequest:
    """`return (loss, outputs) if return_outputs else loss`."""

    parts: tuple[str, ...]
    asked_by: str
    """The parameter that asks for all of them."""
    alone: str
    """What is returned otherwise."""


def returned_on_request(function: Method, count: int) -> ReturnedOnRequest | None:
    """What a method returns that returns so many values if a parameter says so."""
    for statement in own_returns(function):
        match statement.value:
            case ast.IfExp(test=ast.Name(id=asked), body=ast.Tuple(elts=parts), orelse=alone):
                if len(parts) == count:
                    return ReturnedOnRequest(
                        tuple(map(ast.unparse, parts)), asked, ast.unparse(alone)
                    )
    return None
