"""How a metric is computed: the axis of an argmax, a division after its loop."""

import ast
from collections.abc import Sequence

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.rounds import Loop, loops_around
from surefit.source.edits import argument_added, inserted_after, inserted_before, removed, replaced
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called, dotted


def with_axis(case: Case, calls: Sequence[Expression], axis: str = "-1") -> Edit | None:
    """`dim=-1` in each of these calls."""
    edits = []
    for expression in calls:
        source, node = case.source(expression.place), case.node(expression)
        if source is None or not isinstance(node, ast.Call):
            return None
        name = "axis" if source.imported(node.func).startswith("numpy.") else "dim"
        edits.append(argument_added(source, node, name, axis))
    return all_of(edits)


def threshold(case: Case, calls: Sequence[Expression], at: str) -> Edit | None:
    """`(x > 0).long().reshape(-1)` for each argmax over an axis of size 1."""
    edits = []
    for expression in calls:
        source, node = case.source(expression.place), case.node(expression)
        if source is None or not isinstance(node, ast.Call) or called(node) != "argmax":
            return None
        by_module = source.imported(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        logits = next(iter(node.args), None) if by_module else owner
        if logits is None:
            return None
        integers = "astype(int)" if by_module.startswith("numpy.") else "long()"
        text = f"({source.segment(logits)} > {at}).{integers}.reshape(-1)"
        edits.append(replaced(source, node, text))
    return all_of(edits) if edits else None


def after_the_loop(case: Case, statements: Sequence[Expression]) -> Edit | None:
    """Statements of a loop's own block, moved after the loop in their order."""
    found: list[ast.stmt] = []
    source: Source | None = None
    loops: set[Loop] = set()
    for expression in statements:
        source = case.source(expression.place)
        statement = source.statement_at(expression.place.line or 0) if source else None
        if source is None or statement is None or shares_lines(source, statement):
            return None
        loop = next(loops_around(source, statement), None)
        if loop is None or statement not in loop.body or len(block_of(source, statement)) < 2:
            return None
        loops.add(loop)
        found.append(statement)
    around = loops.pop() if len(loops) == 1 else None
    if source is None or around is None or shares_lines(source, around):
        return None
    text = assigned_at_once(source, found)
    return all_of(
        [*(removed(source, entry) for entry in found), inserted_after(source, around, text)]
    )


def assigned_at_once(source: Source, statements: Sequence[ast.stmt]) -> str:
    """`a, b = a / n, b / n`: a line that differs from those of the loop by more than its indent."""
    pairs = [
        (
            source.segment(entry.target),
            f"{source.segment(entry.target)} / {divided_by(source, entry)}",
        )
        for entry in statements
        if isinstance(entry, ast.AugAssign)
    ]
    if len(pairs) != len(statements):
        return "\n".join(source.segment(statement) for statement in statements)
    return f"{', '.join(name for name, _ in pairs)} = {', '.join(value for _, value in pairs)}"


def divided_by(source: Source, statement: ast.AugAssign) -> str:
    text = source.segment(statement.value)
    return f"({text})" if isinstance(statement.value, ast.BinOp) else text


def set_before_the_loop(case: Case, statement: Expression) -> Edit | None:
    """`total = 0.0` before the innermost loop that adds to it."""
    source = case.source(statement.place)
    node = source.statement_at(statement.place.line or 0) if source else None
    if source is None or not isinstance(node, ast.AugAssign):
        return None
    loop = next(loops_around(source, node), None)
    if loop is None or shares_lines(source, loop):
        return None
    return inserted_before(source, loop, f"{dotted(node.target)} = 0.0")


def by_batches(case: Case, division: Expression) -> Edit | None:
    """`len(loader)` for the `len(loader.dataset)` that a sum is divided by."""
    source = case.source(division.place)
    node = source.expression_at(division.span) if source and division.span else None
    if source is None or not isinstance(node, ast.BinOp):
        return None
    match node.right:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(attr="dataset", value=loader)]):
            return replaced(source, node.right, f"len({source.segment(loader)})")
    return None
