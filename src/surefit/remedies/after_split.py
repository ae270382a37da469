"""Rows copied or altered after the split, and the training ones alone."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.laws.rows.copied_rows import CopiedBeforeSplit, renamed
from surefit.remedies.change import Operator
from surefit.source.edits import inserted_after, removed, replaced
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.patches import Edit, all_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterTheSplit(Operator):
    """The copying statement is moved behind the split, with the names of the training part; the
    split takes what there was before."""

    copied: CopiedBeforeSplit
    words: str

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        copied = self.copied
        source, text = copied.source, copied.moved()
        statements = (*copied.helping, copied.copying, *copied.splitting)
        if text is None or any(shares_lines(source, statement) for statement in statements):
            return None
        if len(block_of(source, copied.copying)) < 2:
            return None
        last = max(copied.splitting, key=lambda statement: statement.lineno)
        edits = [removed(source, part) for part in (*copied.helping, copied.copying)]
        edits.append(inserted_after(source, last, text))
        edits += [
            edit for part in copied.splitting if (edit := self.with_names_before(part)) is not None
        ]
        return all_of(edits)

    def with_names_before(self, statement: ast.stmt) -> Edit | None:
        names = {after: name for after, name in self.copied.before.items() if after != name}
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not names or value is None:
            return None
        source = self.copied.source
        return replaced(source, value, renamed(source.segment(value), names))
