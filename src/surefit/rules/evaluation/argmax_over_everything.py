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

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.change import Change
from surefit.remedies.metrics import changed, threshold, with_axis

RULE = Rule("SF526", "argmax-over-everything", Severity.ERROR, __doc__)

WHY = {
    "argmax over everything": "`argmax` without `dim` gives a single index into the flattened"
    " matrix; it is compared with the label of every row.",
    "argmax over one column": "An `argmax` over an axis of size 1 is always 0: every row is"
    " predicted as class 0.",
    "argmax over another axis": "The axis has as many elements as there are classes: each index is"
    " that of a row or position, and is compared with a class.",
}


@RULE.on(Misreported)
def argmax_of_the_wrong_elements(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    return misreport(broken, case, WHY[broken.formula], *remedies(broken, case))


def remedies(broken: Misreported, case: Case) -> Iterator[Change | None]:
    if broken.formula == "argmax over everything":
        yield changed(broken, with_axis(case, broken.nodes))
    elif broken.formula == "argmax over one column":
        for what, at in (("logit", "0"), ("probability", "0.5")):
            words = f"Compare the {what} with {at}, in place of the argmax."
            yield changed(broken, threshold(case, broken.nodes, at), words)
