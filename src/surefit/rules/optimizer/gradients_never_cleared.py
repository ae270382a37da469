"""Gradients are not cleared between steps, so that each step uses those of earlier ones again.

## What happens
`backward` adds to `.grad`. Without `optimizer.zero_grad()` the gradient of a step is the sum of all
gradients since the beginning, or of those since something cleared them.

## Why it matters
Nothing raises an exception. Steps grow and point where the loss fell long ago: the loss swings, or
falls at first and ends high. With clipping or Adam it only looks like a bad learning rate.

## What to do
Call `optimizer.zero_grad()` once for each step: before `backward`, or after `step`. Where there are
several optimizers or models, clear the gradients of each of them.

## How it is recognised
On a few parameters the gradient before a step is held against what the backward passes since the
last step added to it. Reported if at nearly all steps it held older passes, too. A program that
computes `.grad` itself is not judged.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import GradientsCarriedOver
from surefit.laws.training.step_calls import LoopCall, call_at, optimizer_of
from surefit.remedies.statements import Insert

RULE = Rule("SF661", "gradients-never-cleared", Severity.ERROR, __doc__)

SELDOM = 0.7
"""Calls for each step, below which gradients are cleared too seldom."""


@RULE.on(GradientsCarriedOver)
def gradients_accumulate_over_steps(broken: GradientsCarriedOver, case: Case) -> Finding:
    optimizer = broken.optimizer
    step = call_at(case, broken.use.place, "step")
    backward = call_at(case, optimizer.passes_at[0][0] if optimizer.passes_at else None, "backward")
    name = (optimizer_of(step) if step else "") or optimizer.kind
    never = f"because `{name}.zero_grad()` is never called"
    if 0 < broken.cleared < SELDOM * optimizer.steps:
        often = f"{broken.cleared:,} times in {optimizer.steps:,} steps"
        never = f"because `zero_grad` is called only {often}"
    elif broken.cleared and optimizer.cleared_at:
        at = optimizer.cleared_at[0][0]
        never = f"because `zero_grad` at {at} does not clear those that `{name}` uses"
    return case.finding(
        step.place if step else broken.use.place,
        f"Gradients accumulate over steps, {never}: the gradient of a step held"
        f" {optimizer.most_passes:,} backward passes.",
        facts=broken.facts,
        why="`backward` adds to `.grad`. What is not cleared after a step is applied again by every"
        " later step.",
        remedies=(remedy(broken, case, step, backward, name),),
    )


def remedy(
    broken: GradientsCarriedOver,
    case: Case,
    step: LoopCall | None,
    backward: LoopCall | None,
    name: str,
) -> Remedy | Fix:
    words = f"Clear the gradients once for each step: `{name}.zero_grad()`."
    if step is None or not name.replace(".", "").isidentifier():
        return Fix(words)
    in_closure = backward is not None and runs_inside(step, backward)
    at = backward if in_closure and backward is not None else step
    if not in_closure and not step.is_alone:
        return Fix(words)
    return Insert(
        at=at.expression(case),
        where="before" if in_closure else "after",
        text=f"{name}.zero_grad()",
        words=words,
        must=law_holds(broken),
    )


def runs_inside(step: LoopCall, backward: LoopCall) -> bool:
    """`optimizer.step(closure)`, where the closure calls `backward`."""
    scope = backward.source.scope_of(backward.statement)
    return isinstance(scope, ast.FunctionDef) and step.first_argument == scope.name
