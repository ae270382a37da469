"""Which names a scope binds, and to what."""

import ast
from collections.abc import Iterator

Scope = (
    ast.Module
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)

Bindings = dict[ast.AST, dict[str, list[ast.AST]]]
"""Scope -> name -> the nodes that bind it, those in inner blocks last.

A node is an assignment, a loop (of a comprehension, too), a `with` item, an argument, an `alias`
of an import, a definition, an exception handler or a pattern.
"""


def bindings(tree: ast.Module, parents: dict[ast.AST, ast.AST]) -> Bindings:
    """`parents` with outer nodes before inner ones."""
    found: Bindings = {tree: {}}
    inside: dict[ast.AST, ast.AST] = {tree: tree}
    outside: list[tuple[ast.AST, str]] = []
    for node, parent in parents.items():
        scope = inside[parent]
        for name in bound_here(node):
            found[scope].setdefault(name, []).append(node)
        if isinstance(node, ast.Global):
            outside += [(scope, name) for name in node.names]
        inside[node] = scope
        if isinstance(node, Scope):
            inside[node] = node
            found[node] = {}
    for scope, name in outside:
        found[tree].setdefault(name, []).extend(found[scope].pop(name, []))
    return found


def bound_here(node: ast.AST) -> Iterator[str]:
    """Names that a node itself binds in the scope that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    for target in target_of(node):
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


def target_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return [node.target]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [node.target]
    if isinstance(node, ast.withitem) and node.optional_vars:
        return [node.optional_vars]
    return []


def binders(
    name: str, node: ast.AST, parents: dict[ast.AST, ast.AST], found: Bindings
) -> list[ast.AST]:
    """What binds a name as it is read at a node: the innermost scope that has it decides.

    The body of a class is not seen from its methods.
    """
    first = True
    here: ast.AST | None = node
    while here is not None:
        if here in found:
            hidden = isinstance(here, ast.ClassDef) and not first
            if name in found[here] and not hidden:
                return found[here][name]
            first = False
        here = parents.get(here)
    return []
