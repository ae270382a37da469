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

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_words import place_of
from surefit.remedies.change import Change

RULE = Rule("SF528", "compared-with-other-rows", Severity.ERROR, __doc__)

ADVICE = {
    "compared with every row": "Give predictions and targets the same shape: (n, 1) and (n,) are"
    " broadcast to (n, n), so that each row is compared with every other.",
    "logits above one half": "Compare logits with 0, or take `torch.sigmoid` of them first: above"
    " 0.5 is for probabilities.",
}


@RULE.on(Misreported)
def compared_in_the_wrong_way(broken: Misreported, case: Case) -> Finding | None:
    advice = ADVICE.get(broken.formula)
    if advice is None:
        return None
    remedy = Change(to=None, words=advice)
    return case.finding(
        place_of(broken), broken.said, facts=broken.facts, why=advice, remedies=(remedy,)
    )
