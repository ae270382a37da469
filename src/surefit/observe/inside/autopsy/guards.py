"""The conditions that led to a `raise` or an `assert`, evaluated in its frame.

Most errors of libraries stand behind a condition. Which of them decided is found by evaluating the
parts that can be read without running anything: names, attributes, lengths, types, comparisons.
"""

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from surefit.doctor.observations import FailedCheck
from surefit.observe.inside.autopsy import expressions
from surefit.observe.inside.autopsy.values import is_tensor, mapping

MISSING = expressions.MISSING
MOST_CHECKS = 6
MOST_HOPS = 3
"""Flags that are followed to the condition they were computed from."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


@dataclass(frozen=True, slots=True)
class Test:
    """A condition, and what it evaluated to on the way to the failing statement."""

    node: ast.expr
    result: bool


def checks_at(statement: ast.stmt | None, tree: ast.AST | None, frame: FrameType) -> list[Test]:
    """The tests that decided, the innermost first; none where the statement raises nothing."""
    if tree is None or not isinstance(statement, ast.Raise | ast.Assert):
        return []
    found = list(leading_to(statement, tree))[:MOST_CHECKS]
    decided = [leaf for test in found for leaf in deciding(test, frame)]
    return [followed(test, statement, tree, frame) for test in decided]


def leading_to(statement: ast.stmt, tree: ast.AST) -> Iterator[Test]:
    """From the statement outwards to its function."""
    if isinstance(statement, ast.Assert):
        yield Test(statement.test, False)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    node: ast.AST = statement
    while node in parents and not isinstance(node, Function):
        parent = parents[node]
        if isinstance(parent, ast.If | ast.While):
            if node in parent.body:
                yield Test(parent.test, True)
            elif node in parent.orelse:
                yield Test(parent.test, False)
        node = parent


def deciding(test: Test, frame: FrameType) -> Iterator[Test]:
    """The parts of a condition that made it what it was."""
    node = test.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from deciding(Test(node.operand, not test.result), frame)
    elif isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And) is test.result
        for part in node.values:
            known = evaluate(part, frame)
            if every or (known is not MISSING and bool(known) is test.result):
                yield from deciding(Test(part, test.result), frame)
                if not every:
                    return
    else:
        yield test


def followed(test: Test, statement: ast.stmt, tree: ast.AST, frame: FrameType) -> Test:
    """A flag's own condition: `fits` is `len(rows) == 4`, where the function says so just once."""
    for _ in range(MOST_HOPS):
        if not isinstance(test.node, ast.Name):
            break
        name = test.node.id
        values = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and node.lineno < statement.lineno
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        ]
        if len(values) != 1 or not isinstance(values[0], ast.Compare | ast.BoolOp | ast.Call):
            break
        parts = list(deciding(Test(values[0], test.result), frame))
        test = parts[0] if parts else test
        if not parts:
            break
    return test


def evaluate(node: ast.expr, frame: FrameType) -> Any:
    """What a part of a condition is worth; MISSING where telling would run something."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
            return length(expressions.read(inner, frame))
        case ast.Call(func=ast.Name(id="isinstance"), args=[inner, kinds], keywords=[]):
            return is_of(expressions.read(inner, frame), kinds, frame)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return compared(evaluate(left, frame), op, evaluate(right, frame))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            value = truth(evaluate(inner, frame))
            return MISSING if value is MISSING else not value
        case ast.List() | ast.Tuple() | ast.Set():
            values = [evaluate(element, frame) for element in node.elts]
            return MISSING if any(value is MISSING for value in values) else tuple(values)
    return expressions.read(node, frame)


def truth(value: Any) -> Any:
    """Of what has one without asking a class of somebody else."""
    if value is None or type(value) in (bool, int, float, str, list, tuple, set):
        return bool(value)
    inside = mapping(value) if value is not MISSING else None
    return bool(inside) if inside is not None else MISSING


def length(value: Any) -> Any:
    if type(value) in (list, tuple, str, set, frozenset, range):
        return len(value)
    if is_tensor(value):
        shape = tuple(value.shape)
        return int(shape[0]) if shape else MISSING
    inside = mapping(value) if value is not MISSING else None
    return len(inside) if inside is not None else MISSING


def is_of(value: Any, kinds: ast.expr, frame: FrameType) -> Any:
    nodes = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    every = [expressions.read(node, frame) for node in nodes]
    if value is MISSING or not all(isinstance(kind, type) for kind in every):
        return MISSING
    return any(kind in type(value).__mro__ for kind in every)


PLAIN = (bool, int, float, str, type(None), tuple, list)
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def compared(left: Any, op: ast.cmpop, right: Any) -> Any:
    if left is MISSING or right is MISSING:
        return MISSING
    if isinstance(op, ast.Is | ast.IsNot):
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        inside = mapping(right)
        right = tuple(inside) if inside is not None else right
    plain = type(left) in PLAIN and (type(right) in PLAIN or type(right) in (set, frozenset))
    try:
        return COMPARISONS[type(op)](left, right) if plain else MISSING
    except TypeError:
        return MISSING


def operands(node: ast.expr) -> Iterator[ast.expr]:
    """What a condition compares, asks or measures."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            for side in (left, *comparators):
                yield from operands(side)
        case ast.Call(func=ast.Name(id="len" | "isinstance" | "any" | "all"), args=[inner, *_]):
            yield from operands(inner)
        case ast.UnaryOp(operand=inner):
            yield from operands(inner)
        case ast.BinOp(left=left, right=right):
            yield from operands(left)
            yield from operands(right)
        case ast.Constant():
            return
        case _:
            yield node


def as_data(tests: list[Test]) -> tuple[FailedCheck, ...]:
    """For the recording: the condition as it is written, and what it compares."""
    return tuple(
        FailedCheck(
            ast.unparse(test.node),
            test.result,
            tuple(dict.fromkeys(ast.unparse(node) for node in operands(test.node))),
        )
        for test in tests
    )
