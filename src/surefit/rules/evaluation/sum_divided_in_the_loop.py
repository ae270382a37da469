"""An average is divided at every batch, inside the loop, and comes out far too small.

## What happens
`total += loss; total /= steps` stands inside the evaluation loop. Earlier batches are divided again
and again, and what is left is about the last loss divided by the number of batches.

## Why it matters
The reported loss looks excellent from the first epoch on, and a perplexity falls below 1, which is
impossible. Checkpoints are compared by it.

## What to do
Add up in the loop, and divide once after it.

## How it is recognised
The printed number is, at every evaluation and in every digit, what the losses of the batches give
when the sum is divided inside the loop, and not their mean.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.remedies.metrics import after_the_loop, changed

RULE = Rule("SF525", "sum-divided-in-the-loop", Severity.ERROR, __doc__)

WHY = (
    "The running sum is divided inside the loop, at every batch: earlier batches are divided again"
    " and again, and the number is far too small."
)


@RULE.on(Misreported)
def divided_at_every_batch(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    edit = after_the_loop(case, broken.nodes) if broken.nodes else None
    return misreport(broken, case, WHY, changed(broken, edit))
