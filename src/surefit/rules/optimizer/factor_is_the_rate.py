"""A function for `LambdaLR` returns the learning rate, where a factor of it is wanted.

## What happens
`LambdaLR` multiplies the optimizer's learning rate by what the function returns. A function that
returns the rate itself (`base_lr * warmup`) makes every rate its square: 1e-3 becomes 1e-6.

## Why it matters
Training goes on a thousand times too slowly. The loss falls a little, and nothing is raised.

## What to do
Return a factor: 1.0 for the full rate, 0.5 for half of it. Or create the optimizer with `lr=1.0`.

## How it is recognised
The highest rate of the run is the square of the rate that the optimizer was created with.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import FactorIsRate
from surefit.laws.training.step_calls import call_at
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF678", "factor-is-the-rate", Severity.ERROR, __doc__)


@RULE.on(FactorIsRate)
def rates_are_squared(broken: FactorIsRate, case: Case) -> Finding:
    course = broken.course
    return case.finding(
        broken.use.place,
        f"The learning rate is squared: `LambdaLR` multiplies the base rate {course.base:g} by what"
        f" its function returns, and that returns the learning rate, not a factor.",
        facts=broken.facts,
        why=f"A factor of 1 is the full rate; {course.base:g} is that share of it.",
        remedies=(divided(broken, case),),
    )


def divided(broken: FactorIsRate, case: Case) -> Remedy | Fix:
    base = broken.course.base
    call = call_at(case, broken.use.place, "LambdaLR")
    value = call.source.argument(call.call, "lr_lambda", 1) if call else None
    if call is None or value is None:
        return Fix(f"Divide what the function returns by the base rate, {base:g}.")
    text = call.source.segment(value)
    function = text if isinstance(value, ast.Name) else f"({text})"
    new = f"lambda step: {function}(step) / {base!r}"
    words = f"Divide what the function returns by the base rate: `{new}`."
    return ReplaceWith(
        at=case.expression(call.source, value), text=new, words=words, must=law_holds(broken)
    )
