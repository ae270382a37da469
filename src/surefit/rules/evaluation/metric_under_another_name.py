"""A reported number is another metric than its name says.

## What happens
`precision_score(predicted, labels)` is the recall: the two arguments stand in each other's place.
`average="micro"` is reported as a macro average. The root of a mean squared error is never taken,
and the number is called RMSE. R squared and relative errors of swapped arguments are other numbers.

## Why it matters
The number is a real metric of this model and looks like one. It is compared with other people's
numbers, which mean something else.

## What to do
Give the targets first where the function wants them first (scikit-learn) and predictions first
where it wants these (torchmetrics). Name the average that is taken.

## How it is recognised
Every metric is computed from the outputs and targets of the evaluation. The printed number is not
the one that its label names, by any average, and it is the other one in every digit.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.metrics import arguments_swapped, changed

RULE = Rule("SF588", "metric-under-another-name", Severity.ERROR, __doc__)

SWAPPED = "With targets and predictions in each other's place, precision is recall."
SWAP = "Swap the targets and the predictions."
MOST_TRIED = 2


@RULE.on(Misreported)
def the_number_is_another_metric(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    word = broken.metric.split()[0].lower()
    swaps = broken.formula == "arguments swapped" or word in ("precision", "recall")
    calls = [node for node in broken.nodes if swaps and is_of(node.text, word)]
    edits = [arguments_swapped(case, call) for call in calls[:MOST_TRIED]]
    why = f"The label says {broken.metric}; the number is {broken.mistake.is_what}."
    return misreport(
        broken,
        case,
        SWAPPED if edits and word in ("precision", "recall") else why,
        *(changed(broken, edit, SWAP) for edit in edits),
    )


def is_of(call: str, word: str) -> bool:
    """`precision_score(...)` is of `precision`; of others every call is tried."""
    return word in call or word not in ("precision", "recall")
