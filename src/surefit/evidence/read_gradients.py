"""Whether gradients are recorded where a line of the source runs."""

import ast

from surefit.source.callers import calls_that_run
from surefit.source.classes import Method
from surefit.source.reading import Source, dotted
from surefit.source.remembered import remembered

OFF = ("no_grad", "inference_mode", "set_grad_enabled", "_no_grad")
FROZEN = ("requires_grad_", "requires_grad", "set_grad_enabled", "inference_mode")
MOST_CALLERS = 6


def records(source: Source, node: ast.AST) -> bool:
    """On every way to a node that the file shows, nothing switches recording off, and the file
    freezes nothing."""
    return not freezes(source, source.tree) and is_recorded(source, node, 0)


@remembered(otherwise=True)
def freezes(source: Source, _: ast.Module) -> bool:
    """Parameters or recording are switched off by a statement somewhere."""
    return any(
        isinstance(source.parents[one], ast.Call) or not isinstance(one.ctx, ast.Load)
        for one in source.every(ast.Attribute)
        if one.attr in FROZEN and not is_context(source, one)
    )


def is_context(source: Source, node: ast.Attribute) -> bool:
    """`with torch.inference_mode():` or a decorator, which end by themselves."""
    call = source.parents[node]
    outer = source.parents.get(call)
    return node.attr == "inference_mode" and isinstance(outer, ast.withitem | Method)


def is_recorded(source: Source, node: ast.AST, deep: int) -> bool:
    for outer in source.up(node):
        if isinstance(outer, ast.With | ast.AsyncWith):
            if any(switches_off(one.context_expr) for one in outer.items):
                return False
        elif isinstance(outer, Method):
            return runs_recorded(source, outer, deep)
        elif isinstance(outer, ast.Lambda | ast.ClassDef):
            return False
    return True


def switches_off(node: ast.expr) -> bool:
    """Anything but what is known to leave it on."""
    called = node.func if isinstance(node, ast.Call) else node
    last = dotted(called).rpartition(".")[2]
    return last in OFF or not last


def runs_recorded(source: Source, function: Method, deep: int) -> bool:
    """No decorator, and a call of the file runs it with recording on."""
    if function.decorator_list or deep > MOST_CALLERS:
        return False
    calls = calls_that_run(source, function)
    if not calls:
        return False
    return all(is_recorded(source, call, deep + 1) for call in calls)
