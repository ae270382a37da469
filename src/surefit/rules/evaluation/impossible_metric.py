"""A reported metric has a value that it cannot have.

## What happens
A perplexity below 1, a negative mean squared error, an accuracy above 100 %: no model can have
these. The number is computed in a wrong way.

## Why it matters
A number that is impossible here is wrong everywhere, also where it looks plausible.

## What to do
Look at how the number is computed: what is added up, and what it is divided by.

## How it is recognised
By the word before the number in the line that prints it, after an evaluation.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.reported_words import by_hand
from surefit.laws.invariants.reported_numbers import ImpossibleNumber

RULE = Rule("SF530", "impossible-metric", Severity.ERROR, __doc__)


@RULE.on(ImpossibleNumber)
def no_model_has_this(broken: ImpossibleNumber, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="No model can have this value: it is computed in a wrong way.",
        remedies=(by_hand("Compute it from sums over all rows, divided once."),),
    )
