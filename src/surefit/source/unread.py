"""Names that a scope binds and nothing reads."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.source.reading import Source, called, names_within

READS_ANY = frozenset(("locals", "globals", "vars", "eval", "exec"))
Unpacking = ast.Assign | ast.AnnAssign | ast.For


@dataclass(frozen=True, slots=True)
class UnreadName:
    """A variable or an argument whose value goes nowhere."""

    name: str
    binder: ast.AST
    """The only node that binds it: an assignment, a loop or an argument."""
    scope: ast.AST


def unread_names(source: Source) -> Iterator[UnreadName]:
    """None in a file that can read names by their text. Names of a module can be imported by
    others: who asks must know."""
    if any(called(call) in READS_ANY for call in source.every(ast.Call)):
        return
    for scope, names in source.bindings.items():
        if isinstance(scope, ast.ClassDef):
            continue
        for name, binders in names.items():
            if len(binders) == 1 and not name.startswith("_"):
                binder = binders[0]
                if isinstance(binder, Unpacking | ast.arg) and not is_read(source, name, binder):
                    yield UnreadName(name, binder, scope)


def is_read(source: Source, name: str, binder: ast.AST) -> bool:
    """Not by a function that has a variable of its own by this name."""
    return any(binder in source.bound_by(read) for read in source.names_read.get(name, ()))


def bound_together(source: Source, unread: UnreadName) -> frozenset[str]:
    """Other names that came with it: parts of the same tuple, arguments of the same function."""
    binder = unread.binder
    if isinstance(binder, ast.arg):
        listed = source.parents[binder]
        names = [node.arg for node in ast.walk(listed) if isinstance(node, ast.arg)]
    elif isinstance(binder, ast.Assign) and len(binder.targets) == 1:
        names = names_within(binder.targets[0])
    elif isinstance(binder, ast.For):
        names = names_within(binder.target)
    else:
        names = []
    return frozenset(names) - {unread.name}
