"""A step applies gradients that the step before has applied already.

## What happens
`optimizer.step()` is called more often than there are new gradients: twice in a row, or once in a
function and once by whoever calls it. Or `backward` is called twice on one loss, with
`retain_graph=True`, so that its gradients are doubled.

## Why it matters
Every update is applied twice. Training is less stable than its learning rate says, schedules and
averages of Adam run twice as fast, and the loss looks almost right.

## What to do
Call `backward` and `step` once for each batch.

## How it is recognised
At many steps looked at, no backward pass had changed the gradients since the last step, and they
were the same as then. Or the same loss tensor went back twice before a step, at nearly all steps.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.law import BrokenLaw
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import GradientsUsedAgain, LossUsedTwice
from surefit.laws.training.step_calls import LoopCall, call_at, optimizer_of
from surefit.remedies.statements import Remove

RULE = Rule("SF667", "gradients-used-twice", Severity.ERROR, __doc__)


@RULE.on(GradientsUsedAgain)
def steps_without_a_backward_pass(broken: GradientsUsedAgain, case: Case) -> Finding:
    places = [place for place, _ in broken.optimizer.stepped_at]
    calls = [known for known in (call_at(case, place, "step") for place in places) if known]
    calls.sort(key=lambda known: known.statement.lineno)
    name = (optimizer_of(calls[0]) if calls else "") or broken.optimizer.kind
    share = f"{broken.optimizer.again / broken.optimizer.looked:.0%} of the steps"
    last = calls[-1] if len(calls) > 1 else None
    return case.finding(
        last.place if last else broken.use.place,
        f"`{name}.step()` is called without a backward pass since the step before, at {share}: the"
        " same gradients are applied twice.",
        facts=broken.facts,
        why="A step does not clear gradients; another one before the next backward pass makes the"
        " same update again.",
        remedies=(without(broken, case, last, "Take one step for each backward pass."),),
    )


@RULE.on(LossUsedTwice)
def one_loss_goes_back_twice(broken: LossUsedTwice, case: Case) -> Finding:
    call = call_at(case, broken.use.place, "backward")
    first = broken.optimizer.passes_at
    return case.finding(
        broken.use.place,
        "`backward` is called twice on the same loss before each step: its gradients are added"
        " twice.",
        facts=broken.facts,
        why="`retain_graph=True` keeps the graph, and a second backward pass adds the same"
        " gradients again.",
        remedies=(
            without(
                broken,
                case,
                call if len(first) > 1 else None,
                "Call `backward` once for each loss.",
            ),
        ),
    )


def without(broken: BrokenLaw, case: Case, call: LoopCall | None, words: str) -> Remedy | Fix:
    if call is None or not call.is_alone:
        return Fix(words)
    return Remove(at=call.expression(case), words=words, must=law_holds(broken))
