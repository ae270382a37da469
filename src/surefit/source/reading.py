"""A source file that can be asked: what stands where, and how a name came to its value.

Spans are in characters, as people count; `ast` counts bytes.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cached_property
from tokenize import COMMENT, TokenInfo, generate_tokens
from typing import TypeVar

from surefit.source.scopes import Bindings, binders, bindings
from surefit.source.spans import Span

Kind = TypeVar("Kind", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Loop = ast.For | ast.AsyncFor | ast.While
Placed = ast.expr | ast.stmt | ast.ExceptHandler | ast.keyword | ast.alias | ast.arg
SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
"""`+`, `and`, "is read": one object stands for all of its kind, so it has no parent."""
BYTE_ORDER_MARK = "\ufeff"
MOST_NAMES = 20
"""Names that are followed to a value; `a = b; b = a` has no end."""


class Source:
    """One parsed file. Raises `SyntaxError` where it is none."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.marked = text.startswith(BYTE_ORDER_MARK)
        self.lines = [line.rstrip("\r\n") for line in lines_of(text)]
        self.tree = parse(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        found: dict[ast.AST, ast.AST] = {}
        nodes: list[ast.AST] = [self.tree]
        for node in nodes:
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, SHARED):
                    found[child] = node
                    nodes.append(child)
        return found

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node, found once, outer ones before inner ones."""
        return [self.tree, *self.parents]

    @cached_property
    def nodes_by_kind(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.nodes:
            found.setdefault(type(node), []).append(node)
        return found

    def every(self, kind: type[Kind]) -> Iterator[Kind]:
        """Nodes of one kind; faster than `ast.walk`, which looks for them anew each time."""
        if kind.__subclasses__():
            return (node for node in self.nodes if isinstance(node, kind))
        return iter(self.nodes_by_kind.get(kind, []))  # type: ignore[arg-type]

    @cached_property
    def remembered(self) -> dict[tuple[str, ast.AST], object]:
        """What has been found out about nodes of this file: see `remembered`."""
        return {}

    @cached_property
    def imported_calls(self) -> dict[str, list[ast.Call]]:
        """Calls of what is imported, by its full name."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.every(ast.Call):
            name = self.imported(node.func)
            if name:
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def names_read(self) -> dict[str, list[ast.Name]]:
        found: dict[str, list[ast.Name]] = {}
        for node in self.every(ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @cached_property
    def attributes_read(self) -> dict[str, list[ast.Attribute]]:
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.every(ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    @cached_property
    def bindings(self) -> Bindings:
        return bindings(self.tree, self.parents)

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Functions, methods and classes of the file by their names."""
        found: dict[str, list[Definition]] = {}
        for node in self.nodes:
            if isinstance(node, Definition):
                found.setdefault(node.name, []).append(node)
        return found

    @cached_property
    def tokens(self) -> list[TokenInfo]:
        """What Python reads, comments among it; columns in characters."""
        raw = [line + "\n" for line in self.lines]
        raw[:1] = [line.removeprefix(BYTE_ORDER_MARK) for line in raw[:1]]
        found = list(generate_tokens(iter(raw).__next__))
        return [shifted(token) for token in found] if self.marked else found

    @cached_property
    def comments(self) -> dict[int, str]:
        """Line -> the comment on it."""
        return {token.start[0]: token.string for token in self.tokens if token.type == COMMENT}

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def span(self, node: Placed) -> Span:
        end_line = node.end_lineno or node.lineno
        return Span(
            node.lineno,
            self._characters(node.lineno, node.col_offset),
            end_line,
            self._characters(end_line, node.end_col_offset or 0),
        )

    def _characters(self, line: int, bytes_: int) -> int:
        mark = 1 if self.marked and line == 1 else 0
        raw = self.lines[line - 1][mark:] if line <= len(self.lines) else ""
        if raw.isascii():
            return bytes_ + mark
        return len(raw.encode()[:bytes_].decode(errors="ignore")) + mark

    def segment(self, node: ast.AST) -> str:
        """The source of a node as it is written; lines end in a plain newline."""
        if not isinstance(node, Placed):
            return ""
        span = self.span(node)
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column : span.end_column]
        first, *between = self.lines[span.line - 1 : span.end_line - 1]
        last = self.lines[span.end_line - 1][: span.end_column]
        return "\n".join([first[span.column :], *between, last])

    def up(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is in, innermost first."""
        while (node := self.parents.get(node)) is not None:  # type: ignore[assignment]
            yield node

    def statement_of(self, node: ast.AST) -> ast.stmt:
        return next(one for one in (node, *self.up(node)) if isinstance(one, ast.stmt))

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that covers a line."""
        covering = [
            node
            for node in self.every(ast.stmt)
            if node.lineno <= line <= (node.end_lineno or line)
        ]
        return min(
            covering, key=lambda n: ((n.end_lineno or 0) - n.lineno, -n.lineno), default=None
        )

    def expression_at(self, span: Span) -> ast.expr | None:
        """The expression with exactly this span."""
        for node in self.every(ast.expr):
            if node.lineno == span.line and self.span(node) == span:
                return node
        return None

    def calls_in(self, first: int, last: int | None = None) -> Iterator[ast.Call]:
        """Calls that begin on these lines."""
        for node in self.every(ast.Call):
            if first <= node.lineno <= (last or first):
                yield node

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function that a node is in, or the module."""
        for outer in self.up(node):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return outer
        return self.tree

    def loops_around(self, node: ast.AST) -> Iterator[Loop]:
        """Innermost first, within one function."""
        for outer in self.up(node):
            if isinstance(outer, Function | ast.ClassDef):
                return
            if isinstance(outer, Loop):
                yield outer

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((outer for outer in self.up(node) if isinstance(outer, ast.ClassDef)), None)

    def assignments(self, name: str, scope: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
        """Plain assignments to one name directly in a scope, in order; augmented ones and loop
        variables are not among them: see `bound_by`."""
        return [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and self.scope_of(node) is scope
            and any(isinstance(t, ast.Name) and t.id == name for t in targets(node))
        ]

    def bound_by(self, name: ast.Name) -> list[ast.AST]:
        """What binds a name in the scope that it is read from; see `Bindings`."""
        return binders(name.id, name, self.parents, self.bindings)

    def imported(self, node: ast.AST) -> str:
        """`torch.nn.functional.cross_entropy` for `F.cross_entropy`, by the imports of the file;
        empty for what is not imported, or is bound in another way, too."""
        if isinstance(node, ast.Attribute):
            before = self.imported(node.value)
            return f"{before}.{node.attr}" if before else ""
        if not isinstance(node, ast.Name):
            return ""
        full = {self._full_name(one) for one in self.bound_by(node) if not is_set_to_none(one)}
        return full.pop() if len(full) == 1 else ""

    def _full_name(self, binder: ast.AST) -> str:
        statement = self.parents.get(binder)
        if not isinstance(binder, ast.alias) or statement is None:
            return ""
        if isinstance(statement, ast.ImportFrom):
            before = "." * statement.level + (f"{statement.module}." if statement.module else "")
            return before + binder.name
        return binder.name if binder.asname else binder.name.partition(".")[0]

    def calls_of(self, *names: str) -> Iterator[ast.Call]:
        """Calls of what is imported under one of these full names: `torch.optim.AdamW`."""
        for name in names:
            yield from self.imported_calls.get(name, ())

    def calls_named(self, *names: str) -> Iterator[ast.Call]:
        """Calls by the last part of what is called: `backward` for `loss.backward()`."""
        return (node for node in self.every(ast.Call) if called(node) in names)

    def value_of(self, node: ast.expr) -> ast.expr:
        """What stands behind a name that is assigned just once, followed to its end; the
        expression itself for all others."""
        for _ in range(MOST_NAMES):
            if not isinstance(node, ast.Name):
                break
            bound = self.bound_by(node)
            if len(bound) != 1 or not isinstance(bound[0], ast.Assign | ast.AnnAssign):
                break
            value = bound[0].value
            if value is None or not all(isinstance(one, ast.Name) for one in targets(bound[0])):
                break
            node = value
        return node

    def argument(self, call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
        """What a call gives for an argument: by its name, or at its place among the first ones."""
        for one in call.keywords:
            if one.arg == name:
                return one.value
        if position is None or not 0 <= position < len(call.args):
            return None
        before = call.args[: position + 1]
        return None if any(isinstance(one, ast.Starred) for one in before) else before[-1]


def is_set_to_none(binder: ast.AST) -> bool:
    """`flash_attn = None`, as it stands in place of an import that failed."""
    value = binder.value if isinstance(binder, ast.Assign) else ast.Pass()
    return isinstance(value, ast.Constant) and value.value is None


def parse(text: str) -> ast.Module:
    """Without Python's warnings about the text, such as of an odd backslash."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.removeprefix(BYTE_ORDER_MARK))


def lines_of(text: str) -> list[str]:
    """Lines as Python counts them, each with its end; the last one without, if the text has none.

    `splitlines` breaks at form feeds and other characters, too.
    """
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text) or [""]


def shifted(token: TokenInfo) -> TokenInfo:
    """A token of a file that begins with a byte order mark."""
    move = [(line, column + (line == 1)) for line, column in (token.start, token.end)]
    return token._replace(start=move[0], end=move[1])


def targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def dotted(node: ast.AST) -> str:
    """`nn.Linear` for that expression; empty for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def called(node: ast.Call) -> str:
    """The last part of what is called: `Linear` for `torch.nn.Linear(...)`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def names_within(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> list[str]:
    """Each once, those that are read (`ast.Load`) or those that get a value (`ast.Store`)."""
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return list(dict.fromkeys(name.id for name in names if isinstance(name.ctx, context)))
