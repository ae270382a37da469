"""Statements by which an evaluation computes what it reports, as a wrong formula would have it."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from surefit.doctor.findings import Place
from surefit.laws.evaluation.metric_variants import IS_ANOTHER
from surefit.laws.training.rounds import outermost_loop
from surefit.source.reading import Loop, Source, called, dotted, targets
from surefit.source.selection import calls_within, nodes_within

SCORE = re.compile(r"(?<![a-z])f-?1(?!\d)|f-?score|precision|recall|iou|dice|auc", re.IGNORECASE)
ERRORS = re.compile(r"(?<![a-z])(?:r2|mape|percentage)(?![a-z])", re.IGNORECASE)
RANKS = re.compile(r"auc|average_precision|auroc", re.IGNORECASE)

Finder = Callable[[Source], Iterator[ast.AST]]


def nodes_for(formula: str, source: Source, places: Sequence[Place]) -> list[ast.AST]:
    """What in the functions around these places, and in those that call them, is written so."""
    finder = scoring_calls if formula.startswith(IS_ANOTHER) else FINDERS.get(formula)
    if finder is None:
        return []
    scopes = scopes_around(source, places)
    nodes = [node for node in finder(source) if source.scope_of(node) in scopes]
    if formula.startswith("last batch"):
        nodes = [node for node in nodes if not is_printed_within(source, node, places[0])]
    return nodes


def is_printed_within(source: Source, node: ast.AST, printed: Place) -> bool:
    """The line that prints stands in the loop of the evaluation itself: it shows each batch."""
    loop = outermost_loop_of_evaluation(source, node)
    line = printed.line or 0
    return loop is not None and loop.lineno <= line <= (loop.end_lineno or 0)


def scopes_around(source: Source, places: Sequence[Place]) -> set[ast.AST]:
    """Functions that the lines are in and, twice, those that call them."""
    lines = [place.line for place in places if place.file == source.file and place.line]
    statements = [entry for line in lines if (entry := source.statement_at(line)) is not None]
    scopes = {source.scope_of(statement) for statement in statements}
    for _ in range(2):
        names = {getattr(scope, "name", "") for scope in scopes} - {""}
        callers = list(source.calls_named(*names))
        scopes |= {source.scope_of(call) for call in callers}
    return scopes | handed_over(source, scopes)


def handed_over(source: Source, scopes: set[ast.AST]) -> set[ast.AST]:
    """Functions that a call in these scopes is given by name: `compute_metrics=accuracy`."""
    given = {
        node.id
        for call in source.every(ast.Call)
        if source.scope_of(call) in scopes
        for node in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(node, ast.Name)
    }
    return {node for node in source.every(ast.FunctionDef) if node.name in given}


def argmax_without_axis(source: Source) -> Iterator[ast.AST]:
    """`torch.argmax(x)` and `x.argmax()`."""
    for call in source.every(ast.Call):
        if called(call) != "argmax" or any(entry.arg in ("dim", "axis") for entry in call.keywords):
            continue
        by_module = source.imported(call.func) != ""
        if len(call.args) == (1 if by_module else 0):
            yield call


def divided_in_a_loop(source: Source) -> Iterator[ast.AST]:
    """`total /= n` in a loop that also adds to `total`."""
    for statement in (*source.every(ast.AugAssign), *source.every(ast.Assign)):
        name = divided(statement)
        loop = next(source.loops_around(statement), None) if name else None
        if loop is not None and any(adds_to(node, name) for node in ast.walk(loop)):
            yield statement


def divided(statement: ast.AST) -> str:
    match statement:
        case ast.AugAssign(target=target, op=ast.Div()):
            return dotted(target)
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Div())):
            inside = [dotted(node) for node in ast.walk(left)]
            return dotted(target) if dotted(target) in inside else ""
    return ""


def adds_to(node: ast.AST, name: str) -> bool:
    match node:
        case ast.AugAssign(target=target, op=ast.Add()):
            return dotted(target) == name
        case ast.Assign(targets=[target], value=ast.BinOp() as value):
            inside = any(dotted(part) == name for part in ast.walk(value))
            adds = any(isinstance(p.op, ast.Add) for p in nodes_within(value, ast.BinOp))
            return dotted(target) == name and inside and adds
    return False


def set_in_a_loop(source: Source) -> Iterator[ast.AST]:
    """A name that a loop sets without adding to it, and that is read after the loop."""
    for statement in source.every(ast.Assign):
        loop = outermost_loop_of_evaluation(source, statement)
        names = [dotted(target) for target in targets(statement)]
        if loop is None or not isinstance(statement.targets[0], ast.Name):
            continue
        if any(dotted(node) in names for node in ast.walk(statement.value)):
            continue
        after = (
            node
            for node in source.every(ast.Name)
            if node.id in names
            and isinstance(node.ctx, ast.Load)
            and node.lineno > (loop.end_lineno or 0)
            and source.scope_of(node) is source.scope_of(statement)
        )
        if next(after, None) is not None:
            yield statement


def outermost_loop_of_evaluation(source: Source, node: ast.AST) -> Loop | None:
    """Of the loops around a node, the outermost that no backward pass is in."""
    found: Loop | None = None
    for loop in source.loops_around(node):
        if any(True for _ in calls_within(loop, "backward")):
            break
        found = loop
    return found


def divisions(source: Source) -> Iterator[ast.AST]:
    for node in source.every(ast.BinOp):
        if isinstance(node.op, ast.Div):
            yield node
    for statement in source.every(ast.AugAssign):
        if isinstance(statement.op, ast.Div):
            yield statement


def divisor(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        return node.right
    return node.value if isinstance(node, ast.AugAssign) else None


def divided_by_rows(source: Source) -> Iterator[ast.AST]:
    """`total / len(loader.dataset)`, or by a number of rows."""
    for node in divisions(source):
        by = divisor(node)
        text = source.segment(by) if by is not None else ""
        if "dataset" in text or "len(" in text or "size" in text or isinstance(by, ast.Name):
            yield node


def never_reset(source: Source) -> Iterator[ast.AST]:
    """A name that a loop of evaluation adds to and that is set only outside the loop of epochs."""
    for statement in source.every(ast.AugAssign):
        name = dotted(statement.target)
        if not isinstance(statement.op, ast.Add) or not name:
            continue
        inner = next(source.loops_around(statement), None)
        outer = outermost_loop(source, statement)
        if inner is None or (inner is outer and isinstance(statement.target, ast.Name)):
            continue
        within = outer if isinstance(statement.target, ast.Name) else source.scope_of(statement)
        if not any(sets(node, name) for node in ast.walk(within or source.tree)):
            yield statement


def sets(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    return any(dotted(part) == name for target in node.targets for part in ast.walk(target))


def compared_with_half(source: Source) -> Iterator[ast.AST]:
    for node in source.every(ast.Compare):
        match node:
            case ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=0.5)]):
                yield node
    yield from source.calls_named("round")


def comparisons(source: Source) -> Iterator[ast.AST]:
    for node in source.every(ast.Compare):
        if isinstance(node.ops[0], ast.Eq):
            yield node


def added_in_a_loop(source: Source) -> Iterator[ast.AST]:
    """`total += loss.item()` in a loop of evaluation."""
    for statement in source.every(ast.AugAssign):
        inside = [called(node) for node in nodes_within(statement, ast.Call)]
        adds = isinstance(statement.op, ast.Add) and any(
            "loss" in name for name in inside + [dotted(node) for node in ast.walk(statement.value)]
        )
        if adds and outermost_loop_of_evaluation(source, statement) is not None:
            yield statement


def scored_in_a_loop(source: Source) -> Iterator[ast.AST]:
    """`scores.append(f1(...))` or `total += f1(...)` in a loop of evaluation; those that name such
    a score before others."""
    found = [
        node
        for node in (*source.every(ast.AugAssign), *source.every(ast.Expr))
        if collects(node) and outermost_loop_of_evaluation(source, node) is not None
    ]
    named = [node for node in found if SCORE.search(source.segment(node))]
    yield from named or found


def collects(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and any(
            isinstance(part, ast.Call) for part in ast.walk(node.value)
        )
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and called(call) == "append"


def means_in_a_loop(source: Source) -> Iterator[ast.AST]:
    """The same of losses and of shares of a batch: `(guess == y).float().mean()`."""
    yield from added_in_a_loop(source)
    for node in (*source.every(ast.AugAssign), *source.every(ast.Expr)):
        compares = any(isinstance(part, ast.Compare | ast.Call) for part in ast.walk(node))
        averages = any(True for _ in calls_within(node, "mean", "accuracy", "accuracy_score"))
        evaluates = outermost_loop_of_evaluation(source, node) is not None
        if collects(node) and compares and averages and evaluates:
            yield node


def any_argmax(source: Source) -> Iterator[ast.AST]:
    """`x.argmax(1)`, `x.max(1)`; not the `max` of Python."""
    for call in source.every(ast.Call):
        is_max = called(call) == "max" and isinstance(call.func, ast.Attribute)
        if called(call) == "argmax" or (is_max and (call.args or call.keywords)):
            yield call


def means_or_scores_in_a_loop(source: Source) -> Iterator[ast.AST]:
    yield from list(means_in_a_loop(source)) or scored_in_a_loop(source)


def scoring_calls(source: Source) -> Iterator[ast.AST]:
    """`precision_score(y, guess)`, `r2(y, guess)`: two arguments, and the name of a metric."""
    for call in source.every(ast.Call):
        if len(call.args) >= 2 and (SCORE.search(called(call)) or ERRORS.search(called(call))):
            yield call


def ranking_calls(source: Source) -> Iterator[ast.AST]:
    for call in source.every(ast.Call):
        if len(call.args) >= 2 and RANKS.search(called(call)):
            yield call


def ends_a_loop(source: Source) -> Iterator[ast.AST]:
    """A `break`, or a `return`, in a loop of evaluation."""
    for node in (*source.every(ast.Break), *source.every(ast.Return)):
        if outermost_loop_of_evaluation(source, node) is not None:
            yield node


FINDERS: dict[str, Finder] = {
    "argmax over everything": argmax_without_axis,
    "argmax over one column": any_argmax,
    "divided in the loop": divided_in_a_loop,
    "last batch": set_in_a_loop,
    "last batch over all rows": set_in_a_loop,
    "all rows over the last batch": set_in_a_loop,
    "batches over rows": divided_by_rows,
    "rows over batches": divided_by_rows,
    "full batches counted": divided_by_rows,
    "ignored labels counted": divided_by_rows,
    "logits above one half": compared_with_half,
    "compared with every row": comparisons,
    "not reset": never_reset,
    "mean of batch means": means_or_scores_in_a_loop,
    "argmax over another axis": any_argmax,
    "first batch": ends_a_loop,
    "arguments swapped": scoring_calls,
    "decisions for scores": ranking_calls,
}
