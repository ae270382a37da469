"""A value computed once more after an optimizer's step, from the weights as they are then."""

import ast
from collections.abc import Iterator

from surefit.source.edits import appended, argument_removed, both, inserted_after
from surefit.source.line_edits import block_of, bound_by, leaves, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called, names_within

RETAIN = "retain_graph"


def computed_again(source: Source, first: ast.stmt, step: ast.stmt) -> tuple[Edit, str] | None:
    """The statement, and what follows from it and is used after the step, again behind the step.
    None where these are not plain assignments of one block."""
    block = block_of(source, first)
    if step not in block or not isinstance(first, ast.Assign) or shares_lines(source, step):
        return None
    here, there = block.index(first), block.index(step)
    between, later = block[here:there], block[there + 1 :]
    if here >= there or leaves(between):
        return None
    again = list(needed(between, later, first))
    if first not in again:
        return None
    text = "\n".join(source.segment(statement) for statement in again)
    return inserted_after(source, step, text), source.segment(again[0])


def needed(between: list[ast.stmt], later: list[ast.stmt], first: ast.stmt) -> Iterator[ast.Assign]:
    """Assignments that depend on the first and whose names are read later, in their order."""
    touched: set[str] = set()
    following: list[ast.Assign] = []
    for statement in between:
        if isinstance(statement, ast.Assign) and (statement is first or reads(statement) & touched):
            touched |= bound_by(statement)
            following.append(statement)
    wanted = {name for statement in later for name in reads(statement)}
    chosen: list[ast.Assign] = []
    for assign in reversed(following):
        if bound_by(assign) & wanted:
            wanted = (wanted - bound_by(assign)) | reads(assign)
            chosen.append(assign)
    yield from reversed(chosen)


def reads(statement: ast.stmt) -> set[str]:
    return set(names_within(statement, ast.Load))


def first_detached(source: Source, first: ast.stmt, step: ast.stmt) -> tuple[Edit, str] | None:
    """`netD(fake.detach())` in the first computation, whose backward pass need not go beyond; the
    graph is not retained for another any more."""
    match first:
        case ast.Assign(value=ast.Call(args=[ast.Name() as taken, *_])):
            edit = appended(source, taken, ".detach()")
        case _:
            return None
    block = block_of(source, first)
    for statement in block[block.index(first) : block.index(step)]:
        for call in calls_in(statement):
            if called(call) == "backward" and any(word.arg == RETAIN for word in call.keywords):
                edit = both(edit, argument_removed(source, call, RETAIN))
    return edit, taken.id


def calls_in(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))
