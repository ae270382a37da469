"""Columns that a row is no longer given: entries of a dictionary, or statements that add them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns(Operator):
    """The rest of the row stays as it is."""

    entries: Sequence[Written | None]
    """What each column is given, in the order of the names."""
    names: Sequence[str]
    words: str

    def edit(self, case: Case) -> Edit | None:
        nodes = [node for written in self.entries if (node := case.node(written)) is not None]
        source = case.source(self.entries[0])
        if source is None or len(nodes) < len(self.entries):
            return None
        parents = [source.parents[node] for node in nodes]
        display = parents[0]
        if isinstance(display, ast.Dict) and all(parent is display for parent in parents):
            return entries_removed(source, display, self.names)
        return all_of(statement_removed(source, parent) for parent in parents)


def statement_removed(source: Source, node: ast.AST) -> Edit | None:
    """`item["text"] = text`."""
    match node:
        case ast.Assign(targets=[ast.Subscript(), *_]) if not shares_lines(source, node):
            return removed(source, node)
    return None
