"""Items between commas, as in a call or an import: where each stands, taken out and put in."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from tokenize import COMMENT, NL, TokenInfo

from surefit.source.patches import Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

OPEN, CLOSE = ("(", "[", "{"), (")", "]", "}")


@dataclass(frozen=True, slots=True)
class CommaList:
    """Spans of the items, and of all that stands between the brackets."""

    items: tuple[Span, ...]
    inside: Span


def arguments(source: Source, call: ast.Call) -> CommaList:
    """Of a call, in the order of writing; a bracket around an argument is part of it."""
    function, whole = source.span(call.func), source.span(call)
    begin, end = (function.end_line, function.end_column), (whole.end_line, whole.end_column)
    tokens = [token for token in source.tokens if begin <= token.start and token.end <= end]
    first = next(at for at, token in enumerate(tokens) if token.string == "(")
    nodes = [*map(source.span, call.args), *map(source.span, call.keywords)]
    items = [span_of(part) for part in between_commas(tokens[first + 1 : -1], nodes)]
    return CommaList(tuple(items), between(tokens[first].end, tokens[-1].start))


def between_commas(tokens: Sequence[TokenInfo], nodes: Sequence[Span]) -> Iterator[list[TokenInfo]]:
    """Tokens of each argument; commas inside one, as of a `lambda`, belong to it."""
    part: list[TokenInfo] = []
    depth = 0
    for token in tokens:
        depth += (token.string in OPEN) - (token.string in CLOSE)
        if token.string == "," and depth == 0 and not is_inside(token, nodes):
            yield part
            part = []
        elif token.type not in (NL, COMMENT):
            part.append(token)
    if part:
        yield part


def is_inside(token: TokenInfo, nodes: Sequence[Span]) -> bool:
    return any(start(node) <= token.start < end(node) for node in nodes)


def names(source: Source, statement: ast.ImportFrom | ast.Import) -> CommaList:
    """Of an import."""
    items = tuple(source.span(alias) for alias in statement.names)
    return CommaList(items, between(start(items[0]), end(items[-1])))


def taken_out(source: Source, listed: CommaList, gone: Collection[int]) -> Iterator[Replace]:
    """Items with their commas; of items that stand alone on their lines, the lines."""
    if len(gone) == len(listed.items):
        yield Replace(listed.inside, "")
        return
    for first, last in runs(sorted(gone)):
        yield Replace(stretch(source, listed, first, last), "")


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of numbers that follow each other."""
    for number in numbers:
        if number - 1 not in numbers:
            last = number
            while last + 1 in numbers:
                last += 1
            yield number, last


def stretch(source: Source, listed: CommaList, first: int, last: int) -> Span:
    """What must go so that the items from `first` to `last` go and a list is left."""
    begin, stop = listed.items[first], listed.items[last]
    before = source.lines[begin.line - 1][: begin.column]
    after = source.lines[stop.end_line - 1][stop.end_column :].removeprefix(",").lstrip()
    if not before.strip() and (not after or after.startswith("#")):
        return Span(begin.line, 0, stop.end_line + 1, 0)
    if last + 1 < len(listed.items):
        return between(start(begin), start(listed.items[last + 1]))
    return between(end(listed.items[first - 1]), end(stop))


def put_in(source: Source, listed: CommaList, text: str, after: int | None = None) -> Replace:
    """An item behind the last one, or behind the item numbered `after`; on a line of its own if
    that one has its own."""
    if not listed.items:
        return Replace(at(start(listed.inside)), text)
    number = len(listed.items) - 1 if after is None else after
    last = listed.items[number]
    indentation = source.lines[last.line - 1][: last.column]
    alone = not indentation.strip() and all(
        other.end_line != last.line for other in listed.items[:number]
    )
    separator = f",{source.newline}{indentation}" if alone else ", "
    return Replace(at(end(last)), separator + text)


def span_of(tokens: Sequence[TokenInfo]) -> Span:
    return between(tokens[0].start, tokens[-1].end)


def between(begin: tuple[int, int], stop: tuple[int, int]) -> Span:
    return Span(*begin, *stop)


def at(position: tuple[int, int]) -> Span:
    return Span(*position, *position)


def start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def end(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column
