"""Changes of dictionaries as they are written: entries taken out, keys renamed."""

import ast
from collections.abc import Collection

from surefit.source.comma_lists import CommaList, between, end, start, taken_out
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source


def entries_removed(source: Source, node: ast.Dict, keys: Collection[str]) -> Edit:
    """`{"ids": ids, "text": text}` without its text."""
    spans = [
        between(start(source.span(first or value)), end(source.span(value)))
        for first, value in zip(node.keys, node.values, strict=True)
    ]
    gone = {number for number, key in enumerate(keys_of(node)) if key in keys}
    whole = source.span(node)
    inside = between((whole.line, whole.column + 1), (whole.end_line, whole.end_column - 1))
    return Edit(source.file, tuple(taken_out(source, CommaList(tuple(spans), inside), gone)))


def key_renamed(source: Source, key: ast.Constant, name: str) -> Edit:
    """The string with its own quotes around another name."""
    written = source.segment(key)
    quote = written[-1]
    return Edit(source.file, (Replace(source.span(key), f"{quote}{name}{quote}"),))


def keys_of(node: ast.Dict) -> list[str | None]:
    return [
        key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        for key in node.keys
    ]
