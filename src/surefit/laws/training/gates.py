"""Conditions that stand between a run and an expression, and what decided them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.laws.training.flags import Flag, flag_of
from surefit.source import constants
from surefit.source.callers import calls_that_run
from surefit.source.classes import Method
from surefit.source.evaluation import Known, NotKnown, evaluated
from surefit.source.line_edits import block_of, leaves
from surefit.source.reading import Source, dotted

DEEPEST = 6
"""Functions, from the one that an expression is in outwards."""


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

    def known(part: ast.expr) -> Known:
        flag = flag_of(source, part)
        if flag is None:
            return constants.evaluated(source, part)
        if (flag.is_given(command) and not flag.is_fixed) or not isinstance(
            flag.value, int | float
        ):
            raise NotKnown
        return flag.value

    try:
        return bool(evaluated(test, known))
    except NotKnown:
        return None


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
