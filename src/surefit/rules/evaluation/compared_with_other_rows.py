"""A metric compares each prediction with the targets of all rows, or with the wrong threshold.

## What happens
Predictions of shape (n, 1) and targets of shape (n,) are broadcast to (n, n): every prediction is
compared with every target. Or logits are compared with 0.5, as if they were probabilities.

## Why it matters
The metric is near that of guessing, or above 1, however good the model is. Nothing is raised.

## What to do
Give both the same shape, `pred.squeeze(1)` or `target.unsqueeze(1)`; compare logits with 0, or take
`torch.sigmoid` of them first.

## How it is recognised
From the predictions and targets of the evaluation the metric is computed row by row and in these
wrong ways; the printed number is the wrong one in every digit, at every evaluation.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_words import by_hand, place_of, reported_as_measured
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF528", "compared-with-other-rows", Severity.ERROR, __doc__)

MOST_TRIED = 2
BROADCAST = (
    "Shapes (n, 1) and (n,) are broadcast to (n, n): each prediction is compared with the target of"
    " every row."
)
THRESHOLD = "The numbers are logits: a probability above 0.5 is a logit above 0."


@RULE.on(Misreported)
def compared_in_the_wrong_way(broken: Misreported, case: Case) -> Finding | None:
    must = reported_as_measured(broken)
    remedies: list[Append | ReplaceWith | Fix] = []
    if broken.formula == "compared with every row":
        words = "Give predictions and targets the same shape: `.squeeze(-1)`."
        remedies += [
            Append(at=side, suffix=".squeeze(-1)", words=words, must=must, alike=False)
            for node in broken.nodes[:MOST_TRIED]
            for side in sides(node, case)
        ]
        why = BROADCAST
    elif broken.formula == "logits above one half":
        words = "Compare the logits with 0."
        remedies += [
            ReplaceWith(at=side, text="0", words=words, must=must)
            for node in broken.nodes[:MOST_TRIED]
            for side in sides(node, case)
            if side.text == "0.5"
        ]
        why = THRESHOLD
    else:
        return None
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why=why,
        remedies=remedies or [by_hand(words)],
    )


def sides(node: Expression, case: Case) -> list[Expression]:
    """What stands on both sides of a comparison."""
    source, compared = case.source(node.place), case.node(node)
    if source is None or not isinstance(compared, ast.Compare):
        return []
    return [case.expression(source, side) for side in (compared.left, *compared.comparators)]
