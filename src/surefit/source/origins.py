"""Where a value comes from, followed through the file as far as that is certain."""

import ast

from surefit.source.callers import given_for
from surefit.source.classes import pairs, set_on_self
from surefit.source.definitions import definition
from surefit.source.fields import default_of_field, is_changed, member
from surefit.source.reading import MOST_NAMES, Source, dotted, targets
from surefit.source.remembered import remembered
from surefit.source.selection import the_only


def origin(source: Source, node: ast.expr) -> ast.expr:
    """The expression behind names, attributes of `self`, members of settings, and arguments of
    functions that a single call runs; itself, where another value is possible."""
    for _ in range(MOST_NAMES):
        before = one_step_back(source, node)
        if before is None:
            return node
        node = before
    return node


@remembered(otherwise=None)
def one_step_back(source: Source, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Name):
        return of_name(source, node)
    if isinstance(node, ast.Attribute):
        return set_on_self(source, node) or of_settings(source, node.value, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
        return of_settings(source, node.value, key) if isinstance(key, str) else None
    return None


def of_name(source: Source, name: ast.Name) -> ast.expr | None:
    """Its last assignment on a straight way, its only one, or what its function is given."""
    bound = source.bound_by(name)
    if len(bound) == 1 and isinstance(bound[0], ast.arg):
        return given_for(source, bound[0])
    found = definition(source, name)
    if found is not None or len(bound) != 1:
        return found
    only = bound[0]
    if not isinstance(only, ast.Assign | ast.AnnAssign):
        return None
    if not all(isinstance(one, ast.Name) for one in targets(only)):
        return of_tuple(only, name.id)
    return only.value if runs_later(source, name, only) else None


def of_tuple(statement: ast.Assign | ast.AnnAssign, name: str) -> ast.expr | None:
    """`2` for `B` in `A, B = 1, 2`."""
    parts = pairs(targets(statement)[0], statement.value) if statement.value else ()
    return the_only(value for part, value in parts if dotted(part) == name)


def runs_later(source: Source, name: ast.Name, assigned: ast.stmt) -> bool:
    """A function reads what is assigned outside of it."""
    return source.scope_of(name) is not source.scope_of(assigned)


def of_settings(source: Source, owner: ast.expr, key: str) -> ast.expr | None:
    """A member of a dictionary or an object that the file writes out and does not change."""
    made = origin(source, owner)
    found = member(source, made, key) or default_of_field(source, made, key)
    return None if found is None or is_changed(source, owner, key) else found
