"""Calls of a training loop in the user's source: `optimizer.step()`, `loss.backward()`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.line_edits import block_of, inserted_after, removed, shares_lines
from surefit.source.patches import Edit, both
from surefit.source.reading import Loop, Source, called, dotted

CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")


@dataclass(frozen=True, slots=True)
class LoopCall:
    """A call that is a statement of its own, or a part of one."""

    source: Source
    call: ast.Call
    statement: ast.stmt

    @property
    def owner(self) -> str:
        """`optimizer` of `optimizer.step()`."""
        return dotted(self.call.func.value) if isinstance(self.call.func, ast.Attribute) else ""

    @property
    def first_argument(self) -> str:
        return dotted(self.call.args[0]) if self.call.args else ""

    @property
    def is_alone(self) -> bool:
        return isinstance(self.statement, ast.Expr) and not shares_lines(
            self.source, self.statement
        )

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno)

    def expression(self, case: Case) -> Expression:
        return case.expression(self.source, self.call)


def call_at(case: Case, place: Place | None, *names: str) -> LoopCall | None:
    """The first call of one of these methods in the statement at a line."""
    source = case.source(place)
    if source is None or place is None or place.line is None:
        return None
    statement = source.statement_at(place.line)
    if statement is None or hasattr(statement, "body"):
        return None
    for call in source.calls_in(statement.lineno, statement.end_lineno):
        if called(call) in names and source.statement_of(call) is statement:
            return LoopCall(source, call, statement)
    return None


def optimizer_of(step: LoopCall) -> str:
    """Of `optimizer.step()`, and of `scaler.step(optimizer)`."""
    closure = step.source.definitions.get(step.first_argument)
    return step.owner if closure else step.first_argument or step.owner


def calls_named(source: Source, name: str) -> Iterator[LoopCall]:
    for call in source.calls_named(name):
        yield LoopCall(source, call, source.statement_of(call))


def same_function(first: LoopCall, other: LoopCall) -> bool:
    return first.source is other.source and first.source.scope_of(
        first.statement
    ) is other.source.scope_of(other.statement)


def after_the_batches(call: LoopCall) -> tuple[Loop, Edit] | None:
    """The statement moved behind the loop that it stands in, to where an epoch ends."""
    loop = next(call.source.loops_around(call.statement), None)
    if loop is None or not call.is_alone or shares_lines(call.source, loop.body[-1]):
        return None
    text = call.source.segment(call.statement)
    if loop.body[-1] is call.statement:
        text = f"{text}  # once per epoch"  # else nothing but the indentation would tell
    edit = both(removed(call.source, call.statement), inserted_after(call.source, loop, text))
    return loop, edit


def after_statement(call: LoopCall, other: LoopCall) -> Edit | None:
    """The statement moved behind another one, wherever in the same function that stands."""
    if not (call.is_alone and other.is_alone and same_function(call, other)):
        return None
    text = call.source.segment(call.statement)
    gone = removed(call.source, call.statement)
    return both(gone, inserted_after(other.source, other.statement, text))


def between(source: Source, first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
    """Statements of one block between two of it."""
    block = block_of(source, first)
    if last not in block:
        return []
    return block[block.index(first) + 1 : block.index(last)]
