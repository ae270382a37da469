"""A reported metric is that of the evaluation before: the number is one epoch late.

## What happens
The line that reports stands before the evaluation, or reports what was kept from the last one: a
variable that is set after it is printed, predictions that were collected an epoch ago.

## Why it matters
Each number stands beside the wrong epoch. Early stopping and the choice of the best checkpoint take
the epoch after the one they mean.

## What to do
Evaluate first, then report what that gave.

## How it is recognised
Every metric is computed from the outputs and targets of each evaluation. From the second on, each
printed number is that of the evaluation before, in every digit, and not that of this one. Silent
for numbers that are called best, previous, or a running average.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported

RULE = Rule("SF586", "metric-of-an-earlier-evaluation", Severity.ERROR, __doc__)

WHY = "The number was measured before the last training steps, and is reported after them."


@RULE.on(Misreported)
def the_number_is_one_evaluation_late(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    return misreport(broken, case, WHY)
