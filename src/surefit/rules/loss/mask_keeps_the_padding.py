"""The mask of a loss written by hand is the wrong way round: only padding counts.

## What happens
A mean over real positions multiplies by a mask. The comparison that makes it is the wrong way round
(`positions >= length`, `ids == pad`), or a mask that marks padding is taken for one that marks
tokens.

## Why it matters
Nothing is raised. The loss falls quickly, because padding is easy to predict, and the model never
sees a gradient of a real position.

## What to do
Turn the mask round: `positions < length`, `ids != pad`, `~padding_mask`.

## How it is recognised
At several steps the gradient of the loss at the output of the model was 0 at every real position
and at no padded one. Padded are the positions at the ends of rows that hold one token, or zeros,
again and again, in rows of different lengths.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.observations import Operation
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.own_pull import PaddingAlone
from surefit.laws.losses.loss_way import comparisons
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF479", "mask-keeps-the-padding", Severity.ERROR, __doc__)
OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Lt: ">=",
    ast.Eq: "!=",
    ast.NotEq: "==",
}


@RULE.on(PaddingAlone)
def only_padding_has_a_gradient(broken: PaddingAlone, case: Case) -> Finding:
    found = [known for known in comparisons(case.recording) if known.place is not None]
    remedies = [remedy for known in found for remedy in turned_round(broken, case, known)]
    place = next((known.place for known in found if known.place), broken.use.place)
    return case.finding(
        place,
        broken.said,
        facts=broken.facts,
        why="Padding is there to make rows equally long. What a model predicts for it is of no"
        " use.",
        remedies=remedies,
    )


def turned_round(broken: PaddingAlone, case: Case, known: Operation) -> Iterator[Remedy]:
    source = case.source(known.place)
    if source is None or known.place is None or known.place.line is None:
        return
    statement = source.statement_at(known.place.line)
    for node in ast.walk(statement) if statement is not None else ():
        text = ""
        match node:
            case ast.Compare(ops=[kind]) if type(kind) in OPPOSITES:
                left, right = source.segment(node.left), source.segment(node.comparators[0])
                text = f"{left} {OPPOSITES[type(kind)]} {right}"
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                text = source.segment(inner)
        if text and isinstance(node, ast.expr):
            yield ReplaceWith(
                at=case.expression(source, node),
                text=text,
                words=f"Turn the mask round: {code(text)}.",
                must=law_holds(broken),
            )
