"""Arguments under the names that a library takes now, wherever each is written."""

import ast
from collections.abc import Iterable

from surefit.laws.argument_successors import Successor
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import argument_added, argument_removed
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
