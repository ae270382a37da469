"""A reported loss or metric is a mean over batches that is not the one over all rows.

## What happens
The mean loss or the accuracy of each batch is added up and divided by the number of batches. Where
the last batch is much smaller, or batches have different numbers of labels, its rows count more
than others. F1, precision and recall are ratios of counts: their mean over batches is another
number, whatever the sizes, and a batch without a positive row gives 0.

## Why it matters
The number depends on the batch size, and can differ from the mean over all rows by a large share.

## What to do
Weigh each batch by its labels: `total += loss.item() * n; count += n`, then `total / count`. For F1
and the like collect predictions and targets (or counts) of all batches and compute it once.

## How it is recognised
At every evaluation the printed number is the mean over batches, and differs from that over all
labels by more than 5 %.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_words import by_hand, place_of, reported_as_measured
from surefit.remedies.change import Change
from surefit.remedies.metrics import over_rows, scored_once

RULE = Rule("SF529", "mean-of-batch-means", Severity.WARNING, __doc__)


@RULE.on(Misreported)
def batches_weigh_the_same(broken: Misreported, case: Case) -> Finding | None:
    if broken.formula != "mean of batch means":
        return None
    words = "Weigh each batch by the number of its labels."
    edit = over_rows(case, broken.nodes[0]) if len(broken.nodes) == 1 else None
    remedy: Change | Fix = by_hand(words)
    if edit is not None:
        words = "Count over all rows, and divide by their number."
        remedy = Change(to=edit, words=words, must=reported_as_measured(broken))
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why="Batches of unequal size count the same: rows of small batches weigh more.",
        remedies=(remedy,),
    )


@RULE.on(Misreported)
def scores_of_batches_are_averaged(broken: Misreported, case: Case) -> Finding | None:
    if broken.formula != "mean of batch scores":
        return None
    words = "Collect predictions and targets of all batches, and compute it once."
    edit = scored_once(case, broken.nodes[0]) if len(broken.nodes) == 1 else None
    remedy: Change | Fix = by_hand(words)
    if edit is not None:
        remedy = Change(to=edit, words=words, must=reported_as_measured(broken))
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why="F1, precision and recall are ratios of counts over all rows: averaged over batches"
        " they depend on the batch size, and a batch without a positive row gives 0.",
        remedies=(remedy,),
    )
