"""The rows of the batch in place of a number for them: `x.size(0)`; or what was made for more rows
cut to those where it is used."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.laws.rows.row_counts import leaves, with_rows
from surefit.lineage.ways import CREATES, REPEATS
from surefit.remedies.change import OperatorAt
from surefit.source.edits import appended, replaced
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called

COUNTING = (*CREATES, *REPEATS, "view", "reshape")
CUTS = ("[: {}]", "[:, : {}].contiguous()")
"""By the axis of the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTheBatch(OperatorAt):
    """Also in other calls of the function that create or reshape tensors with the number: two
    states are created side by side. A bare integer counts only in a call that is written alike."""

    value: str
    """How the batch says its rows: `x.size(0)`."""

    def edit(self, case: Case) -> Edit | None:
        leaf, source = case.node(self.at), case.source(self.at)
        if leaf is None or source is None:
            return None
        return all_of(replaced(source, node, self.value) for node in alike(source, leaf))


def alike(source: Source, leaf: ast.expr) -> list[ast.expr]:
    call = next((outer for outer in source.up(leaf) if isinstance(outer, ast.Call)), None)
    nodes: list[ast.expr] = [leaf]
    for other in ast.walk(source.scope_of(leaf)):
        if not isinstance(other, ast.Call) or other is call or called(other) not in COUNTING:
            continue
        same = call is not None and ast.unparse(other) == ast.unparse(call)
        if isinstance(leaf, ast.Constant) and not same:
            continue
        inside = [node for argument in other.args for node in leaves(argument)]
        nodes += [node for node in inside if ast.unparse(node) == ast.unparse(leaf)]
    return nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class CutToTheBatch(OperatorAt):
    """Where it is used, with others of the same shape in the same tuple: two states."""

    axis: int
    value: str
    same: frozenset[str]
    """Names of tensors that have the same shape there."""

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None or self.axis >= len(CUTS):
            return None
        outer = source.parents.get(node)
        beside = outer.elts if isinstance(outer, ast.Tuple) else [node]
        cut = [part for part in beside if part is node or ast.unparse(part) in self.same]
        return all_of(appended(source, part, CUTS[self.axis].format(self.value)) for part in cut)


def rows_at(case: Case, at: Written, rows: int) -> str | None:
    """How the function that an expression stands in can say the rows of the batch, by a tensor
    that is bound before it; None where none is, or where the function has ended."""
    leaf, source = case.node(at), case.source(at.place)
    if leaf is None or source is None:
        return None
    for frame in frames_in(case, source, source.scope_of(leaf)):
        text = with_rows(frame, rows)
        root = text.partition(".")[0].partition("[")[0] if text else ""
        bound = source.bindings.get(source.scope_of(leaf), {}).get(root, [])
        if root and root != "self" and any(is_before(source, at, leaf) for at in bound):
            return text
    return None


def frames_in(case: Case, source: Source, scope: ast.AST) -> Iterator[Frame]:
    for frame in reversed(case.frames):
        line = frame.place.line if frame.place.file == source.file else None
        statement = source.statement_at(line) if line else None
        if statement is not None and source.scope_of(statement) is scope:
            yield frame


def is_before(source: Source, binder: ast.AST, leaf: ast.expr) -> bool:
    """A parameter, the head of a loop around the line, or an earlier statement."""
    if isinstance(binder, ast.arg):
        return True
    if isinstance(binder, ast.For):
        return binder in source.up(leaf)
    return isinstance(binder, ast.stmt) and binder.lineno < leaf.lineno
