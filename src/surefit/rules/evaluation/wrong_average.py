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

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.metrics import added_up, by_batches, changed, set_before_the_loop
from surefit.source.patches import Edit

RULE = Rule("SF527", "wrong-average", Severity.ERROR, __doc__)

OPERATORS = {
    "not reset": set_before_the_loop,
    "batches over rows": by_batches,
    "last batch": added_up,
}


@RULE.on(Misreported)
def divided_by_the_wrong_number(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    why = f"The number is computed as {broken.mistake.is_what}."
    return misreport(broken, case, why, changed(broken, edit_of(broken, case)))


def edit_of(broken: Misreported, case: Case) -> Edit | None:
    operator = OPERATORS.get(broken.formula)
    if operator is None or len(broken.nodes) != 1:
        return None
    return operator(case, broken.nodes[0])
