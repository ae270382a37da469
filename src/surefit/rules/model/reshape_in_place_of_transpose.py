"""A `view` or `reshape` stands where axes must be transposed.

## What happens
`x.reshape(batch, frames, mels)` of a tensor (batch, mels, frames) has the shape that was wanted,
and moves nothing: it reads the same memory in the same order and cuts it in other places. What is
called a frame afterwards holds values of one mel bin and a part of the next. The same happens to
heads of attention: `x.view(batch, heads, time, -1)` of (batch, time, features), or
`out.reshape(batch, time, -1)` of (batch, heads, time, features).

## Why it matters
Shapes are right and rows stay apart, so that nothing raises. The model learns from scrambled
values: often something, and much less than it could.

## What to do
Move axes with `transpose(1, 2)` or `permute(...)`. `view` and `reshape` only split and join
neighbouring axes.

## How it is recognised
In a forward pass of the live model a `view` or `reshape` of yours gives sizes that are the same
axes in another order, or joined or split in another order. Its pieces do not fit into the pieces of
its input, or you wrote a size of the tensor's own axis where that axis does not lie.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.operation_axes import AxesScrambled, plain, written_sizes
from surefit.laws.operations.operation_calls import call_of, computed_on
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Change
from surefit.source.edits import BINDS_TIGHTLY, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule("SF355", "reshape-in-place-of-transpose", Severity.ERROR, __doc__)


@RULE.on(AxesScrambled)
def view_does_not_move_an_axis(broken: AxesScrambled, case: Case) -> Finding:
    operation = broken.operation
    written = call_of(operation, case)
    name = code(operation.name)
    return case.finding(
        (written or broken.use).place,
        f"{name} stands where axes must be transposed: from {shape_of(operation.inputs[0])} to"
        f" {shape_of(operation.output)} it scrambles the values within every row.",
        facts=(
            *broken.facts,
            *(fact for also in broken.also for fact in fact_at("also", also.use)),
        ),
        why=f"{name} never moves an axis: it cuts the same memory in other places, so that an entry"
        " of the new axes holds values of several entries of the old ones. `transpose` and"
        " `permute` move axes.",
        remedies=ways(broken, case),
    )


def ways(broken: AxesScrambled, case: Case) -> Iterator[Remedy]:
    """All lines at once: heads that are joined must be split in the same way."""
    moves = [move_of(place, case) for place in (broken, *broken.also)]
    plain_moves = [move for move in moves if move is not None]
    if len(plain_moves) < len(moves) or len({edit.file for edit, _ in plain_moves}) != 1:
        return
    words = dict.fromkeys(code(f".{move}") for _, move in plain_moves)
    replacements = tuple(part for edit, _ in plain_moves for part in edit.changes)
    yield Change(
        to=Edit(plain_moves[0][0].file, replacements),
        words=f"Move the axes: {' and '.join(words)}.",
        must=law_holds(broken),
    )


def move_of(broken: AxesScrambled, case: Case) -> tuple[Edit, str] | None:
    source, call = call_at(case, call_of(broken.operation, case))
    if source is None or call is None:
        return None
    text, move = moved_text(broken, source, call)
    after = ".contiguous()" if is_viewed_later(source, call) else ""
    return (replaced(source, call, f"{text}{after}"), move) if text else None


def is_viewed_later(source: Source, call: ast.Call) -> bool:
    """`view` takes contiguous tensors alone."""
    later = source.scope_of(call)
    views = [node for node in ast.walk(later) if isinstance(node, ast.Call) and node is not call]
    return any(called(node) == "view" and node.lineno >= call.lineno for node in views)


def moved_text(broken: AxesScrambled, source: Source, call: ast.Call) -> tuple[str, str]:
    """The expression that moves axes, and the call that does so; empty where it is not plain."""
    before, after = broken.operation.inputs[0], broken.operation.output
    owner = computed_on(source, call)
    if owner is None or plain(before) != before or plain(after) != after:
        return "", ""
    text = source.segment(owner)
    text = text if isinstance(owner, BINDS_TIGHTLY) else f"({text})"
    if len(before) >= len(after):
        move = move_to(broken.order)
        given = ", ".join(map(source.segment, call.args))
        joined = "" if len(before) == len(after) else f".reshape({given})"
        plain_call = isinstance(call.func, ast.Attribute) and not source.imported(call.func)
        return (f"{text}.{move}{joined}", move) if not joined or plain_call else ("", "")
    sizes = written_sizes(call)
    if len(sizes) != len(after) or call.keywords:
        return "", ""
    inverse = tuple(broken.order.index(axis) for axis in range(len(after)))
    split = ", ".join(source.segment(sizes[axis]) for axis in broken.order)
    move = move_to(inverse)
    return f"{text}.reshape({split}).{move}", move


def move_to(order: tuple[int, ...]) -> str:
    """`transpose(1, 2)` where two axes change places, else `permute(...)`."""
    moved = [axis for axis, wanted in enumerate(order) if axis != wanted]
    if len(moved) == 2:
        return f"transpose({moved[0]}, {moved[1]})"
    return f"permute({', '.join(map(str, order))})"
