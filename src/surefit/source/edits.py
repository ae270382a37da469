"""Changes to source that a rule can propose; what they do not name stays as it was written."""

import ast
import keyword
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from tokenize import COMMENT, NL, NUMBER, STRING, TokenInfo

from surefit.source.comma_lists import (
    CommaList,
    arguments,
    at,
    between,
    end,
    put_in,
    start,
    taken_out,
)
from surefit.source.import_edits import import_replaced, written_as
from surefit.source.import_edits import with_import as with_import
from surefit.source.line_edits import inserted_after as inserted_after
from surefit.source.line_edits import inserted_before as inserted_before
from surefit.source.line_edits import moved_after as moved_after
from surefit.source.line_edits import removed as removed
from surefit.source.patches import Edit as Edit
from surefit.source.patches import Replace as Replace
from surefit.source.patches import as_diff as as_diff
from surefit.source.patches import both as both
from surefit.source.patches import patched as patched
from surefit.source.reading import Source
from surefit.source.spans import Span

BINDS_TIGHTLY = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.JoinedStr,
)
"""Expressions that an attribute or a call can follow without brackets."""


def replaced(source: Source, node: ast.expr | ast.stmt, text: str) -> Edit:
    return Edit(source.file, (Replace(own_span(source, node), text),))


def wrapped(source: Source, node: ast.expr, before: str, after: str) -> Edit:
    """Text before and after an expression; one without brackets of its own that needs them inside
    (`a, b`) gets them."""
    if falls_apart(source, node):
        before, after = f"{before}(", f"){after}"
    span = own_span(source, node)
    changes = Replace(at(start(span)), before), Replace(at(end(span)), after)
    return Edit(source.file, changes)


def appended(source: Source, node: ast.expr, text: str) -> Edit:
    """`x[:, 1:]` with `.contiguous()` behind it; `a + b` gets brackets first."""
    grouped = brackets_around(source, node)
    if grouped or binds_tightly(source, node):
        span = grouped or own_span(source, node)
        return Edit(source.file, (Replace(at(end(span)), text),))
    span = own_span(source, node)
    return Edit(source.file, (Replace(at(start(span)), "("), Replace(at(end(span)), f"){text}")))


def argument_added(source: Source, call: ast.Call, name: str, value: str) -> Edit:
    """A keyword argument at the end of a call; if it is there already, it gets the new value."""
    listed = arguments(source, call)
    number = numbered(source, call, listed, name)
    if number is None:
        return Edit(source.file, tuple(added(source, call, listed, {name: value})))
    item = listed.items[number]
    equals = next(
        place
        for place, token in enumerate(source.tokens)
        if token.start >= start(item) and token.string == "="
    )
    first = source.tokens[equals + 1]
    return Edit(source.file, (Replace(between(first.start, end(item)), value),))


def argument_removed(source: Source, call: ast.Call, name: str) -> Edit:
    listed = arguments(source, call)
    number = numbered(source, call, listed, name)
    if number is None:
        raise ValueError(f"the call has no argument {name}")
    return Edit(source.file, tuple(taken_out(source, listed, {number})))


def call_becomes(
    source: Source,
    call: ast.Call,
    name: str,
    module: str,
    *,
    keep: Sequence[str] = (),
    positional: int = 1,
    add: Mapping[str, str] | None = None,
) -> Edit:
    """Another function in place of the one called, with some of the arguments and new ones.

    The first `positional` arguments without a name stay, and those with a name in `keep`. The
    import of the new name comes with it; that of the old one goes if nothing else uses it.
    """
    listed = arguments(source, call)
    gone = set(range(len(listed.items))) - kept(source, call, keep, positional)
    changes = [Replace(source.span(call.func), written_as(source, call, module, name))]
    if len(gone) == len(listed.items) and (gone or add):
        text = ", ".join(f"{key}={value}" for key, value in (add or {}).items())
        changes.append(Replace(listed.inside, text))
    else:
        left = tuple(number for number in range(len(listed.items)) if number not in gone)
        changes += taken_out(source, listed, gone) if gone else ()
        changes += added(source, call, listed, add or {}, left)
    edit = Edit(source.file, tuple(changes))
    return import_replaced(edit, source, call, module, name)


def kept(source: Source, call: ast.Call, keep: Sequence[str], positional: int) -> set[int]:
    """Numbers of the arguments that stay."""
    nodes = in_order(source, call)
    plain = [number for number, node in enumerate(nodes) if not isinstance(node, ast.keyword)]
    named = [
        number
        for number, node in enumerate(nodes)
        if isinstance(node, ast.keyword) and node.arg in keep
    ]
    return {*plain[:positional], *named}


def in_order(source: Source, call: ast.Call) -> list[ast.expr | ast.keyword]:
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(nodes, key=lambda node: start(source.span(node)))


def numbered(source: Source, call: ast.Call, listed: CommaList, name: str) -> int | None:
    for number, node in enumerate(in_order(source, call)[: len(listed.items)]):
        if isinstance(node, ast.keyword) and node.arg == name:
            return number
    return None


def added(
    source: Source,
    call: ast.Call,
    listed: CommaList,
    add: Mapping[str, str],
    left: Sequence[int] | None = None,
) -> Iterator[Replace]:
    """New arguments behind the last of those that are `left`; a bare generator gets brackets."""
    if not add:
        return
    if len(call.args) == 1 and shares_brackets(source, call.args[0]):
        yield Replace(at(start(listed.inside)), "(")
        yield Replace(at(end(listed.items[0])), ")")
    number = None if left is None else left[-1]
    first, *rest = (f"{key}={value}" for key, value in add.items())
    change = put_in(source, listed, first, number)
    separator = change.text.removesuffix(first) if listed.items else ", "
    yield Replace(change.span, "".join([change.text, *(separator + one for one in rest)]))


def own_span(source: Source, node: ast.expr | ast.stmt) -> Span:
    """Without the brackets of a call that a generator, its only argument, shares."""
    span = source.span(node)
    if isinstance(node, ast.expr) and shares_brackets(source, node):
        return Span(span.line, span.column + 1, span.end_line, span.end_column - 1)
    return span


def shares_brackets(source: Source, node: ast.expr) -> bool:
    parent = source.parents.get(node)
    return (
        isinstance(node, ast.GeneratorExp)
        and isinstance(parent, ast.Call)
        and end(source.span(node)) == end(source.span(parent))
    )


def binds_tightly(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, int | float | complex) or isinstance(node.value, bool)
    if isinstance(node, ast.Tuple | ast.GeneratorExp):
        return not falls_apart(source, node)
    return isinstance(node, BINDS_TIGHTLY)


def falls_apart(source: Source, node: ast.expr) -> bool:
    """It means something else between the brackets of a call."""
    if isinstance(node, ast.Tuple):
        return not source.segment(node).startswith("(") or brackets_around_parts(source, node)
    if isinstance(node, ast.GeneratorExp):
        return shares_brackets(source, node)
    return isinstance(node, ast.Starred | ast.Yield | ast.YieldFrom | ast.NamedExpr)


def brackets_around_parts(source: Source, node: ast.Tuple) -> bool:
    """`(a), (b)`: the first bracket is the first item's."""
    first = brackets_around(source, node.elts[0]) if node.elts else None
    return first is not None and start(first) == start(source.span(node))


def brackets_around(source: Source, node: ast.expr) -> Span | None:
    """The span with the brackets that do nothing but hold an expression together, if it has any."""
    tokens = [token for token in source.tokens if token.type not in (NL, COMMENT)]
    span = source.span(node)
    first = bisect_left(tokens, start(span), key=lambda token: token.start)
    last = bisect_left(tokens, end(span), key=lambda token: token.end)
    if first == 0 or last + 1 >= len(tokens):
        return None
    before, after = tokens[first - 1], tokens[last + 1]
    if before.string != "(" or after.string != ")":
        return None
    if first > 1 and can_be_called(tokens[first - 2]):
        return None
    return between(before.start, after.end)


def can_be_called(token: TokenInfo) -> bool:
    if token.string in (")", "]", "}") or token.type in (NUMBER, STRING):
        return True
    return token.string.isidentifier() and not keyword.iskeyword(token.string)
