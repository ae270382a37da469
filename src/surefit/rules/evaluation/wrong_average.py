"""A reported average is divided by the wrong number, or is not over what it says.

## What happens
Losses that are means of batches are added up and divided by the number of rows; counts of rows are
divided by the number of batches; the metric is that of the last batch alone; a sum is not set to
zero before the next evaluation.

## Why it matters
The number looks like a result. It is off by the size of a batch, jumps with the last batch, or
shows progress that is only the running sum.

## What to do
Add up sums over rows and divide by the number of rows: `total += loss.item() * len(y)`, then
`total / len(dataset)`. Begin each evaluation with zero.

## How it is recognised
The losses and predictions of the evaluation are averaged in the right way and in these wrong ones;
the printed number is, at every evaluation, what a wrong one gives, and not what a right one does.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import WORDS, Misreported
from surefit.laws.reported_words import by_hand, place_of, reported_as_measured
from surefit.remedies.change import Change
from surefit.remedies.metrics import added_up, by_batches, set_before_the_loop
from surefit.source.patches import Edit

RULE = Rule("SF527", "wrong-average", Severity.ERROR, __doc__)

ADVICE = {
    "last batch": "Add up over all batches in the loop: this is the metric of the last batch only.",
    "last batch over all rows": "Add up over all batches: only the last batch is counted.",
    "all rows over the last batch": "Divide by the number of all rows, not of the last batch.",
    "batches over rows": "Divide by the number of batches: the losses are means of batches.",
    "rows over batches": "Divide by the number of rows, not by the number of batches.",
    "full batches counted": "Divide by the number of rows: the last batch is smaller.",
    "ignored labels counted": "Leave ignored labels (-100) out of the count.",
    "not reset": "Set the sum to zero before each evaluation: it is never reset.",
}


@RULE.on(Misreported)
def divided_by_the_wrong_number(broken: Misreported, case: Case) -> Finding | None:
    advice = ADVICE.get(broken.formula)
    if advice is None:
        return None
    edit = edit_of(broken, case)
    remedy: Change | Fix = by_hand(advice)
    if edit is not None:
        remedy = Change(to=edit, words=advice, must=reported_as_measured(broken))
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why=f"The number is computed as {WORDS[broken.formula]}.",
        remedies=(remedy,),
    )


def edit_of(broken: Misreported, case: Case) -> Edit | None:
    if len(broken.nodes) != 1:
        return None
    if broken.formula == "not reset":
        return set_before_the_loop(case, broken.nodes[0])
    if broken.formula == "batches over rows":
        return by_batches(case, broken.nodes[0])
    if broken.formula == "last batch":
        return added_up(case, broken.nodes[0])
    return None
