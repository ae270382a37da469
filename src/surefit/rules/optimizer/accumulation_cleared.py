"""Gradients are cleared inside a group of batches whose gradients were to be accumulated.

## What happens
A step after every n-th batch is to use the gradients of n batches. `zero_grad` runs for every batch
instead of after every step, so that only the last batch of each group counts.

## Why it matters
The loss falls, and of n batches n - 1 are computed for nothing: an epoch trains on a part of the
data, with the noise of a small batch and the few steps of a large one.

## What to do
Call `zero_grad` right after `step`, in the same branch.

## How it is recognised
Several backward passes from one line come before each step, always as many, and the gradient of the
step holds fewer; each pass has a batch of its own, or a remainder (`% n`) decides when to step.
Passes from different lines, as of two losses or of two models, are not judged; nor are programs
that compute `.grad` themselves.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import AccumulationCleared
from surefit.laws.training.step_calls import LoopCall, after_statement, call_at
from surefit.remedies.change import Change

RULE = Rule("SF663", "accumulation-cleared", Severity.ERROR, __doc__)


@RULE.on(AccumulationCleared)
def only_the_last_batch_counts(broken: AccumulationCleared, case: Case) -> Finding:
    optimizer, group = broken.optimizer, broken.group
    step = call_at(case, optimizer.stepped_at[0][0], "step") if optimizer.stepped_at else None
    clearing = call_at(case, broken.use.place, "zero_grad")
    return case.finding(
        broken.use.place,
        f"Gradients are cleared for every batch, and a step is taken after {group}: of the {group}"
        " accumulated batches only the last one counts.",
        facts=broken.facts,
        why="`zero_grad` between the backward passes of one step throws away what the earlier ones"
        " have accumulated.",
        remedies=(remedy(broken, step, clearing),),
    )


def remedy(
    broken: AccumulationCleared, step: LoopCall | None, clearing: LoopCall | None
) -> Remedy | Fix:
    words = "Clear the gradients right after the step."
    edit = after_statement(clearing, step) if step and clearing else None
    return Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words)
