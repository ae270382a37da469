"""Columns that a row is no longer given: entries of a dictionary, or statements that add them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, both
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns:
    """The rest of the row stays as it is."""

    entries: Sequence[Written | None]
    """What each column is given, in the order of the names."""
    names: Sequence[str]
    words: str
    must: Condition | None = None
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:
        first = next((written for written in self.entries if written is not None), None)
        source = case.source(first)
        nodes = [case.node(written) for written in self.entries]
        if source is None or any(node is None for node in nodes):
            return None
        parents = [source.parents[node] for node in nodes if node is not None]
        display = parents[0]
        if isinstance(display, ast.Dict) and all(parent is display for parent in parents):
            return entries_removed(source, display, self.names)
        return statements_removed(source, parents)


def statements_removed(source: Source, parents: Sequence[ast.AST]) -> Edit | None:
    """`item["text"] = text`."""
    edit: Edit | None = None
    for parent in parents:
        adds = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Subscript)
        if not adds or not isinstance(parent, ast.Assign) or shares_lines(source, parent):
            return None
        change = removed(source, parent)
        edit = both(edit, change) if edit is not None else change
    return edit
