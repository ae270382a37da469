"""Tables with gaps in their index that a dataset asks by position, as the source shows them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.evidence.gaps import KEEP_GAPS, NO_TABLE, SPLITS, given_for, leaves_gaps
from surefit.source.classes import Method, is_self, method
from surefit.source.definitions import last_binding, right_side
from surefit.source.line_edits import run_at_once
from surefit.source.origins import of_self, set_in
from surefit.source.outcomes import function_run, outcomes
from surefit.source.reading import Source, called, dotted

MOST_STEPS = 12
FULL_AGAIN = ("sample", "sort_values")
"""All numbers are still there, in another order."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A table that has lost rows, and the line of a dataset that asks it by position."""

    made: ast.expr
    asked: ast.Subscript
    held: ast.expr
    """What the dataset keeps: the right side of `self.table = ...`."""


def gaps_asked(source: Source) -> Iterator[Gap]:
    if renumbers(source):
        return
    for owner in source.every(ast.ClassDef):
        gives = method(source, owner, "__getitem__")
        if gives is None or method(source, owner, "__len__") is None:
            continue
        if len(gives.args.args) == 2 and source.parents[gives] is owner:
            yield from in_class(source, owner, gives)


def renumbers(source: Source) -> bool:
    """`reset_index(inplace=True)`, or a new index: it is not told of which table."""
    in_place = any(
        called(call) == "reset_index" and source.argument(call, "inplace") is not None
        for call in source.every(ast.Call)
    )
    return in_place or any(
        one.attr == "index" and not isinstance(one.ctx, ast.Load)
        for one in source.every(ast.Attribute)
    )


def in_class(source: Source, owner: ast.ClassDef, gives: Method) -> Iterator[Gap]:
    row = gives.args.args[1].arg
    for node in run_at_once(gives.body):
        if not isinstance(node, ast.Subscript) or dotted(node.slice) != row:
            continue
        table = table_of(source, node.value)
        values = set_in(source, owner).get(table.attr, ()) if table is not None else ()
        held = values[0] if len(values) == 1 else None
        for made in gaps_behind(source, held, MOST_STEPS) if held is not None else ():
            if is_table(source, made, MOST_STEPS) and held is not None:
                yield Gap(made, node, held)
                return


def table_of(source: Source, node: ast.expr) -> ast.Attribute | None:
    """`self.rows` of `self.rows["text"]`, `self.rows.text`, `self.rows.loc` and `self.rows`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
        if node.attr in NO_TABLE or node.attr == "iat":
            return None
        node = node.value
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return node if is_self(source, node.value) else None


def gaps_behind(source: Source, node: ast.expr, left: int) -> Iterator[ast.expr]:
    if left == 0:
        return
    if leaves_gaps(source, node) and not is_full(node):
        yield node
        return
    for before in one_back(source, node):
        yield from gaps_behind(source, before, left - 1)


def is_full(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called(node) in FULL_AGAIN


def one_back(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name):
        bound = source.bound_by(node)
        if len(bound) == 1 and isinstance(bound[0], ast.arg):
            yield from given_for(source, bound[0])
            return
        last = last_binding(source, bound, source.statement_of(node))
        if last is None and len(bound) == 1 and isinstance(bound[0], ast.Assign):
            last = bound[0]
        value = right_side(last) if last is not None else None
        if value is not None:
            yield value
        elif isinstance(last, ast.Assign) and isinstance(last.value, ast.Call):
            yield from [last.value] if called(last.value) == SPLITS else []
    elif isinstance(node, ast.Attribute):
        back = of_self(source, node)
        yield back if back is not None else node.value
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from [node.func.value] if node.func.attr in KEEP_GAPS else []


def is_table(source: Source, node: ast.expr, left: int) -> bool:
    """It comes from a function of pandas."""
    if left == 0:
        return False
    if isinstance(node, ast.Call):
        if source.imported(node.func).startswith("pandas."):
            return True
        if called(node) == SPLITS:
            return bool(node.args) and is_table(source, node.args[0], left - 1)
        if function_run(source, node) is not None:
            found = outcomes(source, node)
            return bool(found) and all(
                one is not node and is_table(source, one, left - 1) for one in found
            )
        if isinstance(node.func, ast.Attribute):
            return is_table(source, node.func.value, left - 1)
        return False
    if isinstance(node, ast.Subscript):
        return is_table(source, node.value, left - 1)
    return any(is_table(source, one, left - 1) for one in one_back(source, node))
