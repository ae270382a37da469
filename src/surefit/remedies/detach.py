"""Edits that let a graph go where a step ends, and keep the gradients within the step."""

import ast

from surefit.doctor.graph_stories import GraphStory
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.laws.training.carriers import Carrier, written_to
from surefit.source.edits import (
    appended,
    argument_removed,
    both,
    inserted_before,
    removed,
    replaced,
)
from surefit.source.line_edits import block_of, put_at, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, names_within

EACH = {
    "": "{0}.detach()",
    "tuple": "tuple(part.detach() for part in {0})",
    "list": "[part.detach() for part in {0}]",
    "dict": "{{key: part.detach() for key, part in {0}.items()}}",
}


def detached(carrier: Carrier, story: GraphStory) -> tuple[Edit | None, str]:
    """The edit, and its one new statement or expression.

    A value that the step itself still uses is let go after the backward pass, or before the next
    step takes it up: detached where it is computed, it would pass no gradient at all.
    """
    source, node = carrier.source, carrier.statement
    if carrier.member is not None:
        text = EACH[carrier.container].format(source.segment(carrier.member))
        if carrier.container:
            return replaced(source, carrier.member, text), text
        return appended(source, carrier.member, ".detach()"), text
    change = f"{carrier.text} = {EACH[carrier.container].format(carrier.text)}"
    ends = backward_in(source, node, story)
    if (ends is not None and ends.lineno < node.lineno) or not is_used_in_step(carrier, ends):
        return at_the_statement(carrier, change)
    if ends is not None:
        return put_after(source, ends, change), change
    if shares_lines(source, node):
        return None, change
    guarded = f"if {carrier.text} is not None:\n    {change}" if can_be_none(carrier) else change
    return inserted_before(source, node, guarded), change


def at_the_statement(carrier: Carrier, change: str) -> tuple[Edit | None, str]:
    source = carrier.source
    match carrier.statement:
        case ast.Assign(targets=[target], value=value):
            if not isinstance(target, ast.Tuple) and not carrier.container:
                text = source.segment(value)
                edit = appended(source, value, ".detach()")
                return edit, f"{carrier.text} = {text}.detach()" if text.isidentifier() else change
    return put_after(source, carrier.statement, change), change


def put_after(source: Source, node: ast.stmt, change: str) -> Edit | None:
    """On a line of its own, after all statements that share a line with this one."""
    beside = [other for other in block_of(source, node) if other.lineno == node.lineno]
    indent = source.lines[node.lineno - 1][: source.span(beside[0]).column]
    if indent.strip():
        return None
    last = max(other.end_lineno or 0 for other in beside)
    return Edit(source.file, (put_at(source, last + 1, indent + change),))


def backward_in(source: Source, node: ast.stmt, story: GraphStory) -> ast.stmt | None:
    """The statement of the same function that leads to the backward pass."""
    for line in reversed(story.here):
        statement = source.statement_at(line.line) if line.file == source.file else None
        if statement is not None and source.scope_of(statement) is source.scope_of(node):
            return statement if not hasattr(statement, "body") else None
    return None


def is_used_in_step(carrier: Carrier, ends: ast.stmt | None) -> bool:
    """Read after the statement that keeps it, or kept several times before the pass."""
    source, node = carrier.source, carrier.statement
    around_end = set(source.loops_around(ends)) if ends is not None else set()
    if any(loop not in around_end for loop in source.loops_around(node)):
        return True
    return any(
        isinstance(read, ast.Name | ast.Attribute)
        and isinstance(read.ctx, ast.Load)
        and ast.unparse(read) == carrier.text
        and (node.end_lineno or node.lineno) < read.lineno
        and (ends is None or read.lineno <= ends.lineno)
        for read in ast.walk(source.scope_of(node))
    )


def can_be_none(carrier: Carrier) -> bool:
    """Some statement of the file sets it to None."""
    return any(
        isinstance(node.value, ast.Constant)
        and node.value.value is None
        and any(ast.unparse(target) == carrier.text for target in written_to(node))
        for node in carrier.source.every(ast.Assign)
    )


def running_loss_detached(case: Case, use: Written, carrier: Carrier) -> tuple[Edit | None, str]:
    """`total += loss; total.backward()`: the sum takes the value, the loss goes back. With it, what
    the loss of the step is called."""
    source, added = carrier.source, summand(carrier.statement, carrier.text)
    match case.node(use):
        case ast.Call(func=ast.Attribute(value=called_on)) if isinstance(added, ast.Name):
            first = appended(source, added, ".detach()")
            return both(first, replaced(source, called_on, added.id)), added.id
    return None, source.segment(added) if added is not None else "loss"


def summand(node: ast.stmt, text: str) -> ast.expr | None:
    match node:
        case ast.AugAssign(value=value):
            return value
        case ast.Assign(value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            others = [side for side in (left, right) if ast.unparse(side) != text]
            return others[0] if len(others) == 1 else None
    return None


def moved_into_loop(source: Source, node: ast.Assign, loop: ast.stmt) -> Edit | None:
    """The statement as the first one of a loop of its function that reads what it gives."""
    body = getattr(loop, "body", [])
    same = source.scope_of(node) is source.scope_of(loop) and (node.end_lineno or 0) < loop.lineno
    if not body or not same or shares_lines(source, node) or body[0].lineno == loop.lineno:
        return None
    names = {ast.unparse(part) for part in written_to(node)}
    reads = set(names_within(loop))
    if not names <= reads:
        return None
    return both(removed(source, node), inserted_before(source, body[0], source.segment(node)))


def without_retaining(case: Case, use: Written, source: Source) -> list[Edit]:
    """`retain_graph=True` taken out of the failing call, where it stands in the same file."""
    call = case.node(use)
    if use.place.file != source.file or case.argument(use, "retain_graph", None) is None:
        return []
    return [argument_removed(source, call, "retain_graph")] if isinstance(call, ast.Call) else []
