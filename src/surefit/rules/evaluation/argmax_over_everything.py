"""Accuracy is computed with an argmax over the wrong elements.

## What happens
`torch.argmax(logits)` without `dim` gives one index into all rows and classes together, and that
one number is compared with every label. Over an axis of size 1, an argmax is always 0.

## Why it matters
Accuracy stays near zero, or at the share of one class, while the model is fine. Time goes into
mending a model that is not broken.

## What to do
Name the axis of classes: `logits.argmax(dim=-1)`. With one logit for each row, compare it with 0.

## How it is recognised
From the logits and labels of the evaluation the accuracy is computed in the right way and with such
an argmax; the printed number is the second and not the first, at every evaluation, and the source
has an argmax without an axis.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_words import by_hand, place_of, reported_as_measured
from surefit.remedies.change import Change
from surefit.remedies.metrics import threshold, with_axis

RULE = Rule("SF526", "argmax-over-everything", Severity.ERROR, __doc__)

ONE_INDEX = (
    "`argmax` without `dim` gives a single index into the flattened matrix; it is compared with"
    " the label of every row."
)
ONE_COLUMN = "An `argmax` over an axis of size 1 is always 0: every row is predicted as class 0."


@RULE.on(Misreported)
def argmax_of_the_wrong_elements(broken: Misreported, case: Case) -> Finding | None:
    if broken.formula == "argmax over everything":
        words = "Name the axis of classes: `dim=-1`."
        edit = with_axis(case, broken.nodes)
        remedy = Change(to=edit, words=words, must=reported_as_measured(broken))
        return case.finding(
            place_of(broken), broken.said, facts=broken.facts, why=ONE_INDEX, remedies=(remedy,)
        )
    if broken.formula == "argmax over one column":
        return case.finding(
            place_of(broken),
            broken.said,
            facts=broken.facts,
            why=ONE_COLUMN,
            remedies=list(thresholds(broken, case)),
        )
    return None


def thresholds(broken: Misreported, case: Case) -> Iterator[Remedy | Fix]:
    """Of a logit, and of a probability."""
    for what, at in (("logit", "0"), ("probability", "0.5")):
        edit = threshold(case, broken.nodes, at)
        words = f"Compare the {what} with {at}, in place of the argmax."
        if edit is not None:
            yield Change(to=edit, words=words, must=reported_as_measured(broken))
        elif at == "0":
            yield by_hand(words)
