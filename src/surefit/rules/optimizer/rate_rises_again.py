"""`CosineAnnealingLR` is stepped more often than its `T_max`: the learning rate rises again.

## What happens
The cosine reaches its lowest rate after `T_max` steps. It does not stop there: further steps go up
the other side.

## Why it matters
The last part of the run trains with a growing rate and undoes what the low rate had settled. The
best model lies in the middle of the run, and the last one is kept.

## What to do
Set `T_max` to how often the scheduler is stepped in the whole run.

## How it is recognised
The run came to its end with the scheduler between 1.15 and 1.95 times `T_max`, and the rate at the
end is well above its lowest. Several ups and downs are a way to train and are not reported.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import RateRisesAgain
from surefit.laws.training.step_calls import call_at
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF674", "rate-rises-again", Severity.WARNING, __doc__)


@RULE.on(RateRisesAgain)
def the_cosine_goes_on(broken: RateRisesAgain, case: Case) -> Finding:
    schedule = broken.schedule
    length = dict(schedule.plan)["T_max"]
    return case.finding(
        broken.use.place,
        f"The learning rate rises again at the end: `T_max` is {length:,} and the scheduler is"
        f" stepped {schedule.position:,} times.",
        facts=(*broken.facts, Fact("stepped at", str(schedule.at))),
        why="After `T_max` steps a cosine is at its lowest, and rises from there.",
        remedies=(longer(broken, case),),
    )


def longer(broken: RateRisesAgain, case: Case) -> Remedy | Fix:
    words = f"Set `T_max` to {broken.schedule.position:,}, the steps that it gets in this run."
    call = call_at(case, broken.use.place, broken.schedule.kind)
    value = call.source.argument(call.call, "T_max", 1) if call else None
    if call is None or value is None:
        return Fix(words, choice=True)
    return ReplaceWith(
        at=case.expression(call.source, value),
        text=str(broken.schedule.position),
        words=words,
        must=law_holds(broken),
        choice=True,
    )
