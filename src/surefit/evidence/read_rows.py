"""Datasets of a script that is only read: how many rows they promise, and which they read."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.evidence.read_tensors import known
from surefit.source.classes import Method, method
from surefit.source.constants import number
from surefit.source.line_edits import run_at_once
from surefit.source.origins import origin
from surefit.source.reading import Source, dotted
from surefit.source.returns import own_returns

CHECKS = (ast.If, ast.IfExp, ast.Try, ast.While)


@dataclass(frozen=True, slots=True)
class Promise:
    """A dataset that gives every number below the length of what it reads, and reads further."""

    owner: ast.ClassDef
    counted: ast.expr
    """What `__len__` gives back."""
    asked: ast.Subscript
    beyond: ast.expr
    """What is added to the number of the row."""


def promises(source: Source) -> Iterator[Promise]:
    for owner in source.every(ast.ClassDef):
        length, gives = (method(source, owner, name) for name in ("__len__", "__getitem__"))
        if length is None or gives is None or len(gives.args.args) != 2:
            continue
        counted = counted_in(length)
        if counted is None or has_checks(gives):
            continue
        held = dotted(counted.args[0])
        if not is_sequence(source, owner, counted.args[0]):
            continue
        for node in run_at_once(gives.body):
            beyond = added(source, node, held, gives)
            if beyond is not None and isinstance(node, ast.Subscript):
                yield Promise(owner, counted, node, beyond)
                break


def is_sequence(source: Source, owner: ast.ClassDef, node: ast.expr) -> bool:
    """Asked by position: a slice is taken of it somewhere in the class, or it is made as a list or
    a tensor. Of a dictionary any number can be a key."""
    held = dotted(node)
    if any(
        isinstance(one, ast.Subscript)
        and isinstance(one.slice, ast.Slice)
        and dotted(one.value) == held
        for one in ast.walk(owner)
    ):
        return True
    made = origin(source, node)
    return isinstance(made, ast.List | ast.ListComp) or known(source, node) is not None


def counted_in(length: Method) -> ast.Call | None:
    """`len(self.rows)`, if that is all that `__len__` gives back."""
    found = [one.value for one in own_returns(length)]
    value = found[0] if len(found) == 1 else None
    if not isinstance(value, ast.Call) or dotted(value.func) != "len" or len(value.args) != 1:
        return None
    return value if dotted(value.args[0]).startswith("self.") else None


def has_checks(gives: Method) -> bool:
    """The number can be made smaller, or a failure be caught."""
    checks = any(isinstance(one, CHECKS) for one in run_at_once(gives.body))
    names = {one.arg for one in gives.args.args}
    rebound = any(
        isinstance(one, ast.Name) and one.id in names and not isinstance(one.ctx, ast.Load)
        for one in run_at_once(gives.body)
    )
    return checks or rebound


def added(source: Source, node: ast.AST, held: str, gives: Method) -> ast.expr | None:
    """`k` of `self.rows[index + k]`, where that is a number above 0."""
    if not isinstance(node, ast.Subscript) or dotted(node.value) != held:
        return None
    at, row = node.slice, gives.args.args[1].arg
    if not isinstance(at, ast.BinOp) or not isinstance(at.op, ast.Add):
        return None
    if not isinstance(at.left, ast.Name) or at.left.id != row:
        return None
    beyond = number(source, at.right)
    return at.right if beyond is not None and beyond > 0 else None
