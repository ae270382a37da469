"""A law that every healthy run satisfies does not hold, and no other rule explains why.

## What happens
The run goes on, or ends with exit code 0. Something that holds in every healthy training run was
measured and does not hold in this one: a parameter that never moves, gradients of one step that go
into the next, rows of a batch that change each other's predictions.

## Why it matters
Nothing raises an exception here. The loss often falls all the same, and the model is not what the
numbers say.

## What to do
Look at what was expected and what was measured. The place is the line at which it was measured; the
cause lies there or before it.

## How it is recognised
Each law is measured on every run: see `surefit run`, which says at its end which laws were measured
and on how much. This rule speaks where one is broken and no rule knows the cause.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw

RULE = Rule("SF991", "broken-law", Severity.WARNING, __doc__, general=True)


@RULE.on(BrokenLaw)
def a_law_does_not_hold(broken: BrokenLaw, case: Case) -> Finding | None:
    if not broken.certain:
        return None
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why=f"In a healthy run {broken.law.words}. No rule knows why it is not so here.",
    )
