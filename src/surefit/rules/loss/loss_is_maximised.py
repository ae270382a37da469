"""The sign of the loss is wrong: every step moves predictions away from their targets.

## What happens
A loss written by hand lacks its minus, `log_probabilities.gather(1, y).mean()`, or has one too
many, `-F.cross_entropy(...)`, or a score is returned where a loss is wanted, `1 - error`. The
optimizer minimises what should be maximised.

## Why it matters
Nothing is raised, and the printed loss falls, without end. The model learns to be wrong.

## What to do
Turn the sign round where the loss is computed, or create the optimizer with `maximize=True`.

## How it is recognised
The gradient of the loss at the output of the model was taken at several steps and held against the
targets of the batch. At each of them it raises the labelled class less than all others, or points
from the target to the prediction. An optimizer with `maximize=True` is taken into account, and a
model that is trained towards the targets in other steps is not meant.
"""

import ast

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.own_pull import PushedAway
from surefit.laws.losses.loss_way import last_operation, result_of
from surefit.laws.operations.operation_calls import line_of
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.wrap import Wrap
from surefit.source.reading import Source

RULE = Rule("SF477", "loss-is-maximised", Severity.ERROR, __doc__)


@RULE.on(PushedAway)
def predictions_are_moved_away(broken: PushedAway, case: Case) -> Finding:
    last = last_operation(case.recording)
    use = line_of(case, last.place) if last is not None and last.place else broken.use
    source = case.source(use.place)
    value = result_of(source, use.place.line or 0) if source is not None else None
    return case.finding(
        use.place,
        broken.said,
        facts=broken.facts,
        why="An optimizer lowers the loss. This one becomes lower the further predictions are from"
        " their targets.",
        remedies=(turned_round(broken, case, source, value),) if source and value else (),
    )


def turned_round(broken: PushedAway, case: Case, source: Source, value: ast.expr) -> Remedy:
    at, must = case.expression(source, value), law_holds(broken)
    match value:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            rest = source.segment(inner)
        case ast.BinOp(left=ast.Constant(), op=ast.Sub(), right=inner):
            rest = source.segment(inner)
        case _:
            words = f"Turn the sign round: minimise {code(f'-({at.text})')}."
            return Wrap(at=at, before="-", words=words, must=must, alike=False)
    return ReplaceWith(at=at, text=rest, words=f"Minimise {code(rest)} itself.", must=must)
