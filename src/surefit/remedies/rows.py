"""Rows of a pandas table by position, and labels that are positions again."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.observations import Value
from surefit.doctor.violations import Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.values.subscripts import Asked, parts_of
from surefit.remedies.change import Operator
from surefit.remedies.parameters import put_first
from surefit.remedies.statements import statement_at
from surefit.source.classes import Method, set_on_self
from surefit.source.edits import appended, inserted_after, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called, dotted

BY_LABEL = ("loc", "at")
ARRAYS = ("to_numpy", "tolist", "list", "array", "asarray", "tensor", "as_tensor", "from_numpy")
"""Calls whose result is no pandas object."""
AGAIN = ".reset_index(drop=True)"
OTHER_ROWS = TrainingGoesOn(changes_the_past=True)
"""Where a label was another row's, earlier batches change, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPosition:
    """`.iloc` wherever the function asks for rows of that position; nothing else changes."""

    asked: Asked
    values: tuple[Value, ...]
    """What the failing frame holds: arrays and lists among it are left as they are."""
    must: Condition | None = OTHER_ROWS
    choice: bool = False

    @property
    def words(self) -> str:
        first = positional(self.asked.source, self.asked.node) or ""
        return f"Ask by position, in each such subscript of the function: {code(first)}."

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        source, asked = self.asked.source, self.asked.node
        texts = {node: positional(source, node) for node in (asked, *self.others())}
        changes = [replaced(source, node, text) for node, text in texts.items() if text is not None]
        return all_of(changes) if texts[asked] is not None else None

    def others(self) -> Iterator[ast.expr]:
        """With the same position, in the same function, of what can be a pandas object."""
        source, key = self.asked.source, ast.unparse(self.asked.key)
        scope = source.scope_of(self.asked.node)
        known = {value.text: value for value in self.values}
        for node in source.every(ast.Subscript):
            parts = row_of(node)
            if node is self.asked.node or parts is None or not isinstance(node.ctx, ast.Load):
                continue
            same = ast.unparse(parts[1]) == key and source.scope_of(node) is scope
            value = known.get(ast.unparse(parts[0]))
            pandas = value.numbered is not None if value else can_be_pandas(source, parts[0])
            if same and (pandas or by_label(node)):
                yield node


def by_label(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr in BY_LABEL


def row_of(node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr | None] | None:
    """Table or column, label of the row, and column: of `words[at]`, `table.loc[at, "words"]`."""
    parts = parts_of(node) if isinstance(node, ast.Subscript) else None
    if parts is None:
        return None
    base, key = parts
    if not isinstance(base, ast.Attribute) or base.attr not in BY_LABEL:
        return base, key, None
    if isinstance(key, ast.Tuple):
        return (base.value, key.elts[0], key.elts[1]) if len(key.elts) == 2 else None
    return base.value, key, None


def positional(source: Source, node: ast.expr) -> str | None:
    """The same row by its position."""
    parts = row_of(node)
    if parts is None:
        return None
    base, key, column = parts
    of = f"[{source.segment(column)}]" if column is not None else ""
    return f"{source.segment(base)}{of}.iloc[{source.segment(key)}]"


def can_be_pandas(source: Source, node: ast.expr) -> bool:
    """Unless the source says that it was converted."""
    value = set_on_self(source, node) if isinstance(node, ast.Attribute) else source.value_of(node)
    if isinstance(value, ast.Attribute):
        return value.attr != "values"
    if isinstance(value, ast.Call):
        return called(value) not in ARRAYS
    return isinstance(value, ast.Name | ast.Subscript)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renumber(Operator):
    """`.reset_index(drop=True)` where rows are left out; of a split, for each of its parts."""

    at: Written | None
    parameter: str = ""
    """Of the function at that place: its table is numbered again before anything else."""

    @property
    def words(self) -> str:
        where = f" at {self.at.place}" if self.at is not None else ""
        return f"Number the rows again{where}: {code(self.parameter + AGAIN)}."

    def edit(self, case: Case) -> Edit | None:
        if self.parameter:
            return self.at_once(case)
        node = case.node(self.at)
        source, statement = statement_at(case, self.at)
        if node is None or source is None or statement is None:
            return None
        names = split_into(statement, node)
        if not names:
            return appended(source, node, AGAIN)
        if shares_lines(source, statement):
            return None
        return inserted_after(source, statement, "\n".join(f"{n} = {n}{AGAIN}" for n in names))

    def at_once(self, case: Case) -> Edit | None:
        source = case.source(self.at)
        function = source.statement_at(self.at.place.line or 0) if source and self.at else None
        if source is None or not isinstance(function, Method):
            return None
        return put_first(source, function, f"{self.parameter} = {self.parameter}{AGAIN}")


def split_into(statement: ast.stmt, value: ast.expr) -> list[str]:
    """The names of `train, held_out = split(...)`."""
    if not isinstance(statement, ast.Assign) or statement.value is not value:
        return []
    target = statement.targets[0]
    return [dotted(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
