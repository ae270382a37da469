"""An optimizer's gradients are computed and cleared, and its `step` is never called.

## What happens
`backward` computes gradients; only `optimizer.step()` applies them. Where it is missing, or stands
under a condition that never holds, nothing is learned.

## Why it matters
The loop runs, losses differ from batch to batch, and the weights at the end are those of the
beginning.

## What to do
Call `optimizer.step()` after `backward`. Where a step is taken after every n batches, an epoch must
have n.

## How it is recognised
The program came to its end with backward passes and calls of `zero_grad`, an optimizer exists, and
no optimizer took a step; no gradient scaler left steps out.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.gradient_violations import StepNeverTaken
from surefit.laws.made_names import name_at
from surefit.laws.runs import law_holds
from surefit.laws.step_calls import calls_named, optimizer_of
from surefit.remedies.statements import Insert

RULE = Rule("SF669", "optimizer-never-steps", Severity.ERROR, __doc__)


@RULE.on(StepNeverTaken)
def no_step_is_taken(broken: StepNeverTaken, case: Case) -> Finding:
    source = case.source(broken.use.place)
    name = name_at(source, broken.use.place) or broken.optimizer.kind
    steps = (
        [call for call in calls_named(source, "step") if name == optimizer_of(call)]
        if source
        else []
    )
    backward = [call for call in calls_named(source, "backward") if call.is_alone] if source else []
    words = f"Call `{name}.step()` after `backward`."
    fix = (
        Insert(
            at=backward[0].expression(case),
            where="after",
            text=f"{name}.step()",
            words=words,
            must=law_holds(broken),
        )
        if len(backward) == 1 and not steps
        else Fix(words)
    )
    reached = [Fact("its step", f"stands at {call.place} and is never reached") for call in steps]
    place = steps[0].place if steps else backward[0].place if backward else broken.use.place
    return case.finding(
        place,
        f"`{name}.step()` is never called: no weight changes in {broken.passes:,} backward passes.",
        facts=(*broken.facts, *reached),
        why="`backward` computes gradients; only a step applies them.",
        remedies=(fix,),
    )
