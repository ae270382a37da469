"""How a metric is computed: the axis of an argmax, a division after its loop."""

import ast
from collections.abc import Sequence

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import reported_as_measured
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, inserted_after, inserted_before, removed, replaced
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Loop, Source, called, dotted
from surefit.source.selection import nodes_within


def changed(broken: Misreported, edit: Edit | None, words: str = "") -> Change | None:
    """An edit after which what is reported is what was measured."""
    if edit is None:
        return None
    must = reported_as_measured(broken)
    return Change(to=edit, words=words or broken.mistake.advice, must=must)


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
        loop = next(source.loops_around(statement), None)
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
    loop = next(source.loops_around(node), None)
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


def over_rows(case: Case, statement: Expression) -> Edit | None:
    """`total += (guess == y).float().sum()` for a mean, and `len(loader.dataset)` for the
    `len(loader)` that it is divided by."""
    source = case.source(statement.place)
    node = source.statement_at(statement.place.line or 0) if source else None
    if source is None or not isinstance(node, ast.AugAssign):
        return None
    means = [
        part.func
        for part in nodes_within(node.value, ast.Call)
        if isinstance(part.func, ast.Attribute) and part.func.attr == "mean" and not part.args
    ]
    divisors = [
        division.right
        for division in nodes_within(source.scope_of(node), ast.BinOp)
        if isinstance(division.op, ast.Div) and dotted(division.left) == dotted(node.target)
    ]
    if len(means) != 1 or len(divisors) != 1:
        return None
    match divisors[0]:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as loader]):
            summed = f"{source.segment(means[0].value)}.sum"
            return all_of(
                [
                    replaced(source, means[0], summed),
                    replaced(source, divisors[0], f"len({loader.id}.dataset)"),
                ]
            )
    return None


def added_up(case: Case, statement: Expression) -> Edit | None:
    """`counts += ...` for `counts = ...` in a loop before which it is set; otherwise a list of what
    each batch gives, of which the mean is taken after the loop."""
    source = case.source(statement.place)
    node = source.statement_at(statement.place.line or 0) if source else None
    loop = next(source.loops_around(node), None) if source and node else None
    if source is None or loop is None or not isinstance(node, ast.Assign):
        return None
    name = dotted(node.targets[0])
    before = [
        other
        for other in source.every(ast.Assign)
        if other.lineno < loop.lineno
        and source.scope_of(other) is source.scope_of(node)
        and name in [dotted(target) for target in other.targets]
    ]
    if len(node.targets) != 1:
        return None
    if not before:
        return mean_after_the_loop(source, loop, node)
    return replaced(source, node, f"{name} += {source.segment(node.value)}")


def mean_after_the_loop(source: Source, loop: Loop, node: ast.Assign) -> Edit | None:
    """`acc_of_each.append(right.float())`, and `acc = torch.cat(acc_of_each).mean().item()` after
    it, for `acc = right.float().mean().item()`: over all rows, not over those of a batch."""
    name = dotted(node.targets[0])
    values, value, text = f"{name}_of_each", node.value, source.segment(node.value)
    if not name.isidentifier() or values in source.text or shares_lines(source, loop):
        return None
    mean = next((part for part in ast.walk(value) if is_mean_of_rows(part)), None)
    if isinstance(mean, ast.Call) and isinstance(mean.func, ast.Attribute) and has_torch(source):
        each = source.segment(mean.func.value)
        whole = text.replace(each, f"torch.cat({values})")
    else:
        each, whole = text, f"sum({values}) / len({values})"
    return all_of(
        [
            inserted_before(source, loop, f"{values} = []"),
            replaced(source, node, f"{values}.append({each})"),
            inserted_after(source, loop, f"{name} = {whole}"),
        ]
    )


def has_torch(source: Source) -> bool:
    return "torch" in source.bindings[source.tree]


def is_mean_of_rows(node: ast.AST) -> bool:
    """`right.float().mean()`, without an axis."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "mean"
        and not (node.args or node.keywords)
    )


def scored_once(case: Case, statement: Expression) -> Edit | None:
    """`pairs.append((guess, y))` for `pairs.append(f1(guess, y))`, and
    `f1(*map(torch.cat, zip(*pairs)))` for the mean of the list."""
    source = case.source(statement.place)
    node = source.statement_at(statement.place.line or 0) if source else None
    match node:
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[score])):
            pass
        case _:
            return None
    calls = [part for part in nodes_within(score, ast.Call) if len(part.args) == 2]
    if source is None or not calls or score.lineno != score.end_lineno:
        return None
    first, second = calls[0].args
    pair = f"{source.segment(first)}, {source.segment(second)}"
    text = source.segment(score)
    joined = "np.concatenate" if pair.endswith(".numpy()") else "torch.cat"
    once = text.replace(pair, f"*map({joined}, zip(*{name}))")
    means = [part for part in ast.walk(source.scope_of(node)) if is_mean_of(part, name)]
    if once == text or len(means) != 1 or not isinstance(means[0], ast.expr):
        return None
    return all_of([replaced(source, score, f"({pair})"), replaced(source, means[0], once)])


def is_mean_of(node: ast.AST, name: str) -> bool:
    """`np.mean(scores)`, `sum(scores) / len(scores)`."""
    match node:
        case ast.Call(args=[ast.Name(id=given)]):
            return given == name and called(node) == "mean"
        case ast.BinOp(
            left=ast.Call(func=ast.Name(id="sum"), args=[ast.Name(id=given)]), op=ast.Div()
        ):
            return given == name
    return False


def arguments_swapped(case: Case, call: Expression) -> Edit | None:
    """`precision(y, guess)` for `precision(guess, y)`."""
    source, node = case.source(call.place), case.node(call)
    if source is None or not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    first, second = node.args[:2]
    return all_of(
        [
            replaced(source, first, source.segment(second)),
            replaced(source, second, source.segment(first)),
        ]
    )


CONVERSIONS = ("int", "long", "float", "bool", "byte", "astype", "double", "to")


def scores_given(case: Case, call: Expression) -> Edit | None:
    """`auc(y, probs)` for `auc(y, (probs > 0.5).int())`, also where the decisions have a name, or
    are collected in a list. Most functions take the targets first."""
    source, node = case.source(call.place), case.node(call)
    if source is None or not isinstance(node, ast.Call):
        return None
    for argument in reversed(node.args[:2]):
        compared = decided_by(source, source.value_of(argument))
        if compared is not None:
            return replaced(source, argument, source.segment(compared))
        for part in ast.walk(argument):
            edit = collected(source, part.id) if isinstance(part, ast.Name) else None
            if edit is not None:
                return edit
    return None


def decided_by(source: Source, node: ast.AST) -> ast.expr | None:
    """`probs` of `(probs > 0.5).int()`, and of `torch.round(probs)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in CONVERSIONS:
            return decided_by(source, inner)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant()]):
            return left
        case ast.Call(func=ast.Attribute(value=inner, attr="round"), args=[]):
            return inner
        case ast.Call(func=ast.Attribute(attr="round"), args=[inner]):
            return inner
    return None


def collected(source: Source, name: str) -> Edit | None:
    """Scores for decisions in `name.extend((probs > 0.5).int().tolist())`, where nothing else reads
    the list but one call."""
    reads = [node for node in source.every(ast.Name) if node.id == name]
    filled = [
        call
        for call in source.every(ast.Call)
        if called(call) in ("extend", "append")
        and dotted(call.func).startswith(f"{name}.")
        and len(call.args) == 1
    ]
    if len(filled) != 1 or len([node for node in reads if isinstance(node.ctx, ast.Load)]) != 2:
        return None
    for part in ast.walk(filled[0].args[0]):
        compared = decided_by(source, part)
        if compared is not None and isinstance(part, ast.expr):
            text = source.segment(compared)
            tight = isinstance(compared, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
            return replaced(source, part, text if tight else f"({text})")
    return None
