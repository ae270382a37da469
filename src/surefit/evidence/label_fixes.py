"""Changes to where labels are made or used, and what a loss must be given after them."""

import ast
from collections.abc import Callable

from surefit.doctor.causes import caught_by
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.evidence.failed_losses import FailedLoss
from surefit.evidence.label_sources import assigned, keys_of, looped
from surefit.source.edits import appended, both
from surefit.source.patches import Edit
from surefit.source.reading import Source


def at_every_call(loss: FailedLoss, node: ast.expr, text: str) -> Edit | None:
    """Text behind an argument of the failing call, and of calls of the same loss elsewhere in the
    file that are given the same there: an evaluation fails for the same reason, later."""
    source = loss.source
    return in_every_call(loss, node, lambda one: appended(source, one, text)) if source else None


def in_every_call(
    loss: FailedLoss, node: ast.expr, change: Callable[[ast.expr], Edit | None]
) -> Edit | None:
    """A change of an argument, made in every call that is given the same."""
    source, call = loss.source, loss.call
    edit = change(node)
    if source is None or call is None or edit is None or node not in call.args:
        return edit
    position = call.args.index(node)
    for other in source.every(ast.Call):
        if other is call or source.segment(other.func) != source.segment(call.func):
            continue
        if len(other.args) != len(call.args):
            continue
        again = other.args[position]
        more = change(again) if alike(source, again, node) else None
        edit = both(edit, more) if more is not None else edit
    return edit


def alike(source: Source, one: ast.expr, other: ast.expr) -> bool:
    """Given the same: the same text, the same model's output, the same place in a batch."""
    first, second = root_of(source, one), root_of(source, other)
    return bool(first) and first == second


def root_of(source: Source, node: ast.expr) -> str:
    """`net(...)` for whatever `net` was called on; `batch[1]` for what a loop takes out."""
    if isinstance(node, ast.Name):
        made = assigned(source, node)
        if isinstance(made, ast.Call | ast.Subscript):
            return root_of(source, made)
        loops = [one for one in source.bound_by(node) if isinstance(one, ast.For)]
        keys = keys_of(loops[0].target, node.id) if len(loops) == 1 else None
        if keys is not None and made is None:
            return f"batch{list(looped(loops[0].iter, keys))}"
    if isinstance(node, ast.Call):
        return f"{source.segment(node.func)}(...)"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return source.segment(node.value)
    return source.segment(node)


def must(crash: Crash, seen: Recording, gets: LossGets) -> Condition:
    """What the loss must be given; where the exception was caught, its `try` must go through."""
    caught = caught_by(crash, seen) if crash.swallowed else None
    return EvaluationRuns(caught.handler, caught.entries) if caught else gets
