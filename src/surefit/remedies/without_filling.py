"""Wider logits cut instead of narrower ones filled up."""

import ast

from surefit.doctor.findings import Place
from surefit.laws.losses.loss_sources import Entering, runs_a_model
from surefit.source.edits import Edit, appended, both, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, called, dotted

PADS = ("pad", "cat", "concat", "concatenate", "hstack", "zeros", "new_zeros", "zeros_like")


def filled_at(source: Source, at: Place, narrow: ast.Call | None) -> ast.Call | None:
    """The one call, on the way from the model to the divergence, that fills up."""
    compared = [one for one in source.calls_in(at.line or 0) if called(one) == "kl_div"]
    statement = source.statement_at(at.line or 0)
    start = compared[0] if compared else statement
    if start is None:
        return None
    names = {dotted(narrow.func)} if narrow is not None else set()
    entering = Entering(source, runs_a_model(source, names))
    entering.follow(start)
    fills = [node for node in entering.nodes if isinstance(node, ast.Call) and called(node) in PADS]
    return min(fills, key=lambda node: (node.lineno, node.col_offset), default=None)


def cut(source: Source, pad: ast.Call, wide: ast.Call, width: int) -> Edit | None:
    """`F.pad(given, (0, 4))` becomes `given`; `teacher(text).logits` gets a slice."""
    if called(pad) != "pad" or not pad.args:
        return None
    logits: ast.expr = wide
    outer = source.parents[logits]
    while isinstance(outer, ast.Attribute) and outer.attr == "logits":
        logits, outer = outer, source.parents[outer]
    shorter = appended(source, logits, f"[..., :{width}]")
    return both(shorter, without_filling(source, pad))


def without_filling(source: Source, pad: ast.Call) -> Edit:
    """What was filled up stays as it is; `given = F.pad(given, ...)` goes."""
    statement, given = source.statement_of(pad), source.segment(pad.args[0])
    if isinstance(statement, ast.Assign) and statement.value is pad:
        names = [source.segment(one) for one in statement.targets]
        if names == [given] and not shares_lines(source, statement):
            return removed(source, statement)
    return replaced(source, pad, given)
