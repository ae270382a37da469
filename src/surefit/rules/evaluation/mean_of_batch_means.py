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

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.metrics import changed, over_rows, scored_once

RULE = Rule("SF529", "mean-of-batch-means", Severity.WARNING, __doc__)

RATIO = (
    "It is no mean over rows: averaged over batches it depends on the batch size, and on how the"
    " rows fall into batches."
)
MEAN = "Batches of unequal size count the same: rows of small batches weigh more."
COUNT = "Count over all rows, and divide by their number."
COLLECT = "Collect predictions and targets of all batches, and compute it once."


@RULE.on(Misreported)
def batches_weigh_the_same(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    node = broken.nodes[0] if len(broken.nodes) == 1 else None
    counted = changed(broken, over_rows(case, node), COUNT) if node is not None else None
    collected = changed(broken, scored_once(case, node), COLLECT) if node is not None else None
    why = MEAN if broken.metric in MEANS or "loss" in broken.metric else RATIO
    return misreport(broken, case, why, counted or collected)


MEANS = ("accuracy", "mean squared error", "mean absolute error", "exact match")
