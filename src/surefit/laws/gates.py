"""Conditions that stand between a run and an expression, and what decided them."""

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from surefit.laws.flags import Flag, flag_of
from surefit.source.callers import calls_that_run
from surefit.source.classes import Method
from surefit.source.constants import number, truth
from surefit.source.line_edits import block_of, leaves
from surefit.source.reading import Source, dotted

DEEPEST = 6
"""Functions, from the one that an expression is in outwards."""
COMPARED: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition, and what it must be for the expression to be reached."""

    test: ast.expr
    wanted: bool
    node: ast.stmt | ast.IfExp
    """The `if`, or an `if` before it that leaves."""


def gates(source: Source, node: ast.AST, deep: int = 0) -> Iterator[Gate]:
    """From the inside outwards, through the one call of each function on the way."""
    inner = node
    for outer in source.up(node):
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            yield Gate(outer.test, inner is outer.body, outer)
        elif isinstance(outer, ast.If) and isinstance(inner, ast.stmt):
            yield Gate(outer.test, inner in outer.body, outer)
        if isinstance(inner, ast.stmt):
            block = block_of(source, inner)
            for before in reversed(block[: block.index(inner)]):
                if isinstance(before, ast.If) and leaves(before.body) and not before.orelse:
                    yield Gate(before.test, False, before)
        if isinstance(outer, Method):
            calls = calls_that_run(source, outer) or []
            if len(calls) == 1 and deep < DEEPEST:
                yield from gates(source, calls[0], deep + 1)
            return
        inner = outer


def is_true(source: Source, test: ast.expr, command: Sequence[str]) -> bool | None:
    """What a condition is, by constants of the file and flags that nobody gave."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = is_true(source, test.operand, command)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [is_true(source, one, command) for one in test.values]
        decides = isinstance(test.op, ast.Or)
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if isinstance(test, ast.Compare):
        return comparison(source, test, command)
    known = truth(source, test)
    if known is not None:
        return known
    value = value_of(source, test, command)
    return None if value is None else bool(value)


def comparison(source: Source, test: ast.Compare, command: Sequence[str]) -> bool | None:
    if len(test.ops) != 1:
        return None
    compare = COMPARED.get(type(test.ops[0]))
    sides = [value_of(source, one, command) for one in (test.left, test.comparators[0])]
    left, right = sides
    if compare is None or left is None or right is None:
        return None
    return compare(left, right)


def value_of(source: Source, node: ast.expr, command: Sequence[str]) -> float | None:
    """A number that is written out, or the default of a flag that was not given."""
    known = number(source, node)
    if known is not None:
        return known
    flag = flag_of(source, node)
    if flag is None or (flag.is_given(command) and not flag.is_fixed):
        return None
    return flag.value if isinstance(flag.value, bool | int | float) else None


def flags_in(source: Source, test: ast.expr) -> list[tuple[ast.expr, Flag]]:
    found = [(node, flag_of(source, node)) for node in ast.walk(test) if isinstance(node, ast.expr)]
    return [(node, flag) for node, flag in found if flag is not None]


def varies(source: Source, test: ast.expr) -> bool:
    """It counts something: a loop's own name, or what a loop adds to."""
    names = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    read = {dotted(node) for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    if any(dotted(one.target) in read for one in source.every(ast.AugAssign)):
        return True
    if any(is_of_a_trainer(name) for name in read):
        return True
    return any(
        isinstance(binder, ast.For | ast.AsyncFor | ast.comprehension | ast.AugAssign)
        for name in names
        for binder in source.bound_by(name)
    )


def is_of_a_trainer(name: str) -> bool:
    """`self.state.global_step`, `trainer.current_epoch`: a library counts there."""
    return name.rpartition(".")[2] in ("global_step", "current_epoch", "epoch", "step")
