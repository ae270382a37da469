"""`ReduceLROnPlateau` waits for the metric to become worse: its `mode` is the wrong way round.

## What happens
`mode="min"`, the default, lowers the learning rate where the number has stopped falling, `"max"`
where it has stopped rising. With `"max"` and a loss, or `"min"` and an accuracy, each improvement
counts as a bad epoch.

## Why it matters
The rate is lowered again and again while the model still learns, until nothing moves. It looks like
a model that has converged, early and poorly.

## What to do
`mode="min"` for losses and errors, `mode="max"` for scores.

## How it is recognised
The number that `step` was given is a loss or an error, or a score, by its name or by the loss
function that it comes from; the mode is that of the other kind; and the rate was lowered within the
patience of a number that was better than all before it.
"""

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.runs import law_holds
from surefit.laws.training.rate_violations import PlateauBackwards
from surefit.laws.training.step_calls import LoopCall, call_at
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF680", "plateau-in-the-wrong-direction", Severity.ERROR, __doc__)


@RULE.on(PlateauBackwards)
def better_is_taken_for_worse(broken: PlateauBackwards, case: Case) -> Finding:
    made = call_at(case, broken.use.place, broken.schedule.kind)
    value = '"min"' if broken.lower_is_better else '"max"'
    words = f"Set the direction in which this number is better: `mode={value}`."
    return case.finding(
        Place(made.source.file, made.call.lineno, made.call.end_lineno)
        if made is not None
        else broken.use.place,
        broken.said,
        facts=broken.facts,
        why="In the wrong mode every improvement is a bad epoch, and the learning rate falls while"
        " the model still learns.",
        remedies=(with_mode(broken, case, made, value, words) if made is not None else Fix(words),),
    )


def with_mode(
    broken: PlateauBackwards, case: Case, made: LoopCall, value: str, words: str
) -> ReplaceWith | SetArgument:
    given, must = made.source.argument(made.call, "mode", 1), law_holds(broken)
    if given is not None:
        at = case.expression(made.source, given)
        return ReplaceWith(at=at, text=value, words=words, must=must)
    at = made.expression(case)
    return SetArgument(at=at, name="mode", value=value, words=words, must=must)
