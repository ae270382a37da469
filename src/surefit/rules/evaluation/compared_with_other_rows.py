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
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case, Remedy
from surefit.laws.evaluation.reported_words import misreport, reported_as_measured
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF528", "compared-with-other-rows", Severity.ERROR, __doc__)

MOST_TRIED = 2
WHY = {
    "compared with every row": "Shapes (n, 1) and (n,) are broadcast to (n, n): each prediction is"
    " compared with the target of every row.",
    "logits above one half": "The numbers are logits: a probability above 0.5 is a logit above 0.",
}
SHIFTED = (
    "The loss compares each prediction with another target than the metric does: the model is"
    " trained for the one, and judged by the other."
)


@RULE.on(Misreported)
def compared_in_the_wrong_way(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    why = WHY.get(broken.formula, SHIFTED)
    return misreport(broken, case, why, *remedies(broken, case))


def remedies(broken: Misreported, case: Case) -> Iterator[Remedy]:
    must, words = reported_as_measured(broken), broken.mistake.advice
    for node in broken.nodes[:MOST_TRIED]:
        for side in sides(node, case):
            if broken.formula == "compared with every row":
                yield Append(at=side, suffix=".squeeze(-1)", words=words, must=must, alike=False)
            elif broken.formula == "logits above one half" and side.text == "0.5":
                yield ReplaceWith(at=side, text="0", words=words, must=must)


def sides(node: Expression, case: Case) -> list[Expression]:
    """What stands on both sides of a comparison."""
    source, compared = case.source(node.place), case.node(node)
    if source is None or not isinstance(compared, ast.Compare):
        return []
    return [case.expression(source, side) for side in (compared.left, *compared.comparators)]
