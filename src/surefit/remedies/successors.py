"""Arguments under the names that a library takes now, wherever each is written."""

import ast
from collections.abc import Iterable

from surefit.laws.libraries.argument_successors import Successor
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import argument_added, argument_removed, with_import
from surefit.source.patches import Edit, Replace, both
from surefit.source.reading import Source
from surefit.source.spans import Span


def renamed(source: Source, successors: Iterable[Successor]) -> Edit | None:
    """All of them; None where one is not written in the file."""
    edit = Edit(source.file, ())
    for successor in successors:
        change = of_one(source, successor)
        if change is None:
            return None
        edit = both(edit, change)
    return edit


def of_one(source: Source, successor: Successor) -> Edit | None:
    owner, key = source.parents[successor.key], successor.key
    if isinstance(key, ast.Constant):
        if not successor.new and isinstance(owner, ast.Dict):
            return entries_removed(source, owner, [successor.old])
        if not successor.new or successor.value or successor.receiver:
            return None
        return Edit(source.file, (Replace(source.span(key), f'"{successor.new}"'),))
    if not isinstance(owner, ast.Call) or key.arg is None:
        return None
    if successor.settings is not None:
        return as_settings(source, owner, key, successor)
    if successor.receiver is not None:
        value = source.segment(key.value)
        without = argument_removed(source, owner, successor.old)
        return both(without, argument_added(source, successor.receiver, successor.new, value))
    if not successor.new:
        return argument_removed(source, owner, successor.old)
    span = source.span(key)
    if successor.value:
        return Edit(source.file, (Replace(span, f"{successor.new}={successor.value}"),))
    name = Span(span.line, span.column, span.line, span.column + len(successor.old))
    return Edit(source.file, (Replace(name, successor.new),))


def as_settings(
    source: Source, call: ast.Call, key: ast.keyword, successor: Successor
) -> Edit | None:
    """`args=SFTConfig(max_length=512)`; None where the call has settings of another class already,
    or several arguments would become settings."""
    kind, parameter = successor.settings, successor.parameter
    given = any(keyword.arg in (parameter, None) for keyword in call.keywords)
    moved = [keyword for keyword in call.keywords if kind and keyword.arg in kind.takes]
    if kind is None or given or len(moved) > 1:
        return None
    text = f"{parameter}={kind.name}({successor.new}={source.segment(key.value)})"
    edit = Edit(source.file, (Replace(source.span(key), text),))
    return with_import(edit, source, kind.module, kind.name)
