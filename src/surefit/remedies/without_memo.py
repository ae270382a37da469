"""A value that is kept after it was computed once, computed in every step again."""

import ast
from collections.abc import Iterator
from textwrap import dedent

from surefit.laws.training.carriers import Carrier
from surefit.source.edits import Edit, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Definition, Source


def memo_of(carrier: Carrier) -> ast.If | None:
    """`if self.table is not None: return self.table`; `if self.table is None: self.table = ...`."""
    return next(memos(carrier), None)


def memos(carrier: Carrier) -> Iterator[ast.If]:
    source, text = carrier.source, carrier.text
    for node in source.every(ast.If):
        read = {ast.unparse(part) for part in ast.walk(node.test) if isinstance(part, ast.expr)}
        if text not in read or node.orelse or scope_of(carrier, node) is None:
            continue
        inside = carrier.statement in ast.walk(node)
        match node.body:
            case [ast.Return(value=ast.expr() as value)]:
                if not inside and ast.unparse(value).startswith(text):
                    yield node
            case _:
                if inside and carrier.statement in node.body and asks_whether_it_is_there(node):
                    yield node


def scope_of(carrier: Carrier, node: ast.stmt) -> ast.AST | None:
    """The class that both stand in, or of a plain name the function."""
    source = carrier.source
    kind = ast.ClassDef if carrier.text.startswith("self.") else Definition
    scopes = [outer for outer in source.up(node) if isinstance(outer, kind)][:1]
    return next((scope for scope in scopes if scope in source.up(carrier.statement)), None)


def asks_whether_it_is_there(node: ast.If) -> bool:
    """`is None`, `not in self.tables`."""
    compared = [part for part in ast.walk(node.test) if isinstance(part, ast.Compare)]
    return any(isinstance(part.ops[0], ast.Is | ast.NotIn) for part in compared)


def without_memo(source: Source, memo: ast.If) -> Edit | None:
    if shares_lines(source, memo):
        return None
    if isinstance(memo.body[0], ast.Return):
        return removed(source, memo)
    lines = source.lines[memo.body[0].lineno - 1 : memo.end_lineno]
    indent = source.lines[memo.lineno - 1][: source.span(memo).column]
    body = dedent("\n".join(lines)).split("\n")
    return replaced(source, memo, "\n".join([body[0], *(indent + line for line in body[1:])]))
