"""Batches at the end of each epoch reach no step: gradients of an incomplete group are dropped.

## What happens
A step is taken after every n batches. Where an epoch has no multiple of n, its last batches lie in
the gradients when it ends, and are cleared when the next one begins.

## Why it matters
A part of every epoch is computed and thrown away. With few batches, or data that is not shuffled,
the same rows are never learned from.

## What to do
Take a step after the last batch, too: `if (i + 1) % n == 0 or i + 1 == len(loader)`.

## How it is recognised
At the end of at least half of all epochs, backward passes lay in the gradients that were cleared,
or left, before any step; together at least 10 % of all backward passes.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.accumulation import remainder_of
from surefit.laws.training.gradient_violations import LastGroupDropped
from surefit.laws.training.step_calls import LoopCall, call_at
from surefit.remedies.wrap import Wrap

RULE = Rule("SF668", "last-batches-dropped", Severity.WARNING, __doc__)


@RULE.on(LastGroupDropped)
def the_last_group_is_dropped(broken: LastGroupDropped, case: Case) -> Finding:
    step = call_at(case, broken.use.place, "step")
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="An epoch that is no multiple of the batches of a step ends with gradients that no step"
        " uses.",
        remedies=(remedy(broken, case, step),),
    )


def remedy(broken: LastGroupDropped, case: Case, step: LoopCall | None) -> Remedy | Fix:
    words = "Take a step after the last batch of an epoch, too."
    for outer in step.source.up(step.statement) if step else ():
        if step is not None and isinstance(outer, ast.If) and remainder_of(outer.test):
            end = last_round(step)
            if end:
                return Wrap(
                    at=case.expression(step.source, outer.test),
                    after=f" or {end}",
                    alike=False,
                    words=words,
                    must=law_holds(broken),
                )
    return Fix(words)


def last_round(step: LoopCall) -> str:
    """`i + 1 == len(loader)`, where the loop is `for i, batch in enumerate(loader)`."""
    for loop in step.source.loops_around(step.statement):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=index), *_]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=rows)], keywords=[]),
            ):
                return f"{index} + 1 == len({rows})"
    return ""
