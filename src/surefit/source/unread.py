"""Names that a scope binds and nothing reads."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from surefit.source.reading import Source, called, names_within

READS_ANY = frozenset(("locals", "globals", "vars", "eval", "exec"))
Unpacking = ast.Assign | ast.AnnAssign | ast.For


@dataclass(frozen=True, slots=True)
class UnreadName:
    """A variable or an argument whose value goes nowhere."""

    name: str
    binder: ast.AST
    """The node that binds it first, and others only convert it: an assignment, a loop or an
    argument."""
    scope: ast.AST


def unread_names(source: Source) -> Iterator[UnreadName]:
    """None in a file that can read names by their text. Names of a module can be imported by
    others: who asks must know."""
    if any(called(call) in READS_ANY for call in source.every(ast.Call)):
        return
    for scope, names in source.bindings.items():
        if isinstance(scope, ast.ClassDef):
            continue
        for name, (binder, *later) in names.items():
            if name.startswith("_") or not isinstance(binder, Unpacking | ast.arg):
                continue
            if all(map(partial(converted, name=name), later)) and not is_read(source, name, binder):
                yield UnreadName(name, binder, scope)


def is_read(source: Source, name: str, binder: ast.AST) -> bool:
    """Not by a function that has a variable of its own by this name, and not where it becomes
    itself again: `done = torch.tensor(done)`."""
    return any(
        binder in source.bound_by(read) and not becomes_itself(source, read)
        for read in source.names_read.get(name, ())
    )


def becomes_itself(source: Source, read: ast.Name) -> bool:
    value = converted(source.statement_of(read), read.id)
    return value is not None and any(part is read for part in ast.walk(value))


def converted(node: ast.AST, name: str) -> ast.expr | None:
    """What a name is bound to that is computed from it, also in a tuple of several."""
    for target, value in pairs_of(node):
        reads = any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value))
        if isinstance(target, ast.Name) and target.id == name and reads:
            return value
    return None


def pairs_of(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            return list(zip(names, values, strict=False)) if len(names) == len(values) else []
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
    return []


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
