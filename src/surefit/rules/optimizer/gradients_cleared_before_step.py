"""Gradients are cleared between `backward` and `step`, so that the step does nothing.

## What happens
`zero_grad` after `backward` throws away what `backward` computed. The step that follows finds no
gradient, or zeros.

## Why it matters
Forward and backward passes run, time passes, and the weights stay as they were, or move by weight
decay and old momentum alone. The loss repeats itself.

## What to do
Clear gradients before `backward` or after `step`, never between the two.

## How it is recognised
At nearly all steps looked at, backward passes had given parameters a gradient other than zero, and
none was left when the optimizer's step began.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import GradientsClearedBeforeStep
from surefit.laws.training.step_calls import LoopCall, between, call_at, optimizer_of
from surefit.remedies.change import Change
from surefit.source.line_edits import moved_after
from surefit.source.reading import Source

RULE = Rule("SF662", "gradients-cleared-before-step", Severity.ERROR, __doc__)


@RULE.on(GradientsClearedBeforeStep)
def step_finds_no_gradients(broken: GradientsClearedBeforeStep, case: Case) -> Finding:
    optimizer = broken.optimizer
    step = call_at(case, broken.use.place, "step")
    backward = call_at(case, optimizer.passes_at[0][0] if optimizer.passes_at else None, "backward")
    clearing = clearing_between(step, backward)
    lines = optimizer.cleared_at
    place = lines[0][0] if lines else broken.use.place
    if clearing is not None and step is not None:
        place = Place(step.source.file, clearing.lineno)
    name = (optimizer_of(step) if step else "") or optimizer.kind
    at = f" at line {place.line}" if clearing or lines else ""
    return case.finding(
        place,
        f"Gradients are cleared{at} after `backward` and before `{name}.step()`, so that the step"
        " has no gradients to apply.",
        facts=broken.facts,
        why="`zero_grad` throws away what `backward` has just computed; the step that follows does"
        " nothing.",
        remedies=(remedy(broken, step, clearing),),
    )


def clearing_between(step: LoopCall | None, backward: LoopCall | None) -> ast.stmt | None:
    """The statement between the two that clears gradients, however it does it."""
    if step is None or backward is None or step.source is not backward.source:
        return None
    for statement in between(step.source, backward.statement, step.statement):
        if clears(step.source, statement):
            return statement
    return None


def clears(source: Source, statement: ast.stmt) -> bool:
    text = source.segment(statement)
    return "zero_grad" in text or ("grad" in text and ("None" in text or "zero_" in text))


def remedy(
    broken: GradientsClearedBeforeStep, step: LoopCall | None, clearing: ast.stmt | None
) -> Remedy | Fix:
    words = "Clear the gradients after the step, or before `backward`."
    if step is None or clearing is None:
        return Fix(words)
    edit = moved_after(step.source, clearing, step.statement)
    return Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words)
