"""A reported loss is the mean of means of batches of unequal size.

## What happens
The mean loss of each batch is added up and divided by the number of batches. Where the last batch
is much smaller, or batches have different numbers of labels, its rows count more than others.

## Why it matters
The number depends on the batch size, and can differ from the mean over all rows by a large share.

## What to do
Weigh each batch by its labels: `total += loss.item() * n; count += n`, then `total / count`.

## How it is recognised
At every evaluation the printed number is the mean of the means, and differs from the mean over all
labels by more than 5 %.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_words import by_hand, place_of

RULE = Rule("SF529", "mean-of-batch-means", Severity.WARNING, __doc__)


@RULE.on(Misreported)
def batches_weigh_the_same(broken: Misreported, case: Case) -> Finding | None:
    if broken.formula != "mean of batch means":
        return None
    words = "Weigh each batch by the number of its labels."
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why="Batches of unequal size count the same: rows of small batches weigh more.",
        remedies=(by_hand(words),),
    )
