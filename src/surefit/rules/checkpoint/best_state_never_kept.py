"""The best state is kept under a condition that can never hold, so none ever is.

## What happens
`best_loss = 0.0` before `if val_loss < best_loss:` waits for a loss below zero; `float("inf")`
before `if accuracy > best:` waits for more than infinity.

## Why it matters
The run ends well and leaves no checkpoint, or the file of an earlier run, which is then taken for
the result.

## What to do
Begin with the worst value there is: `float("inf")` for a loss, `float("-inf")` for a score.

## How it is recognised
The loop that trains went past the comparison several times, the calls in its body that save or keep
a state were never made, and no value can meet it: `best` is set to a number once, from which a
loss or a score cannot be better.
"""

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.best_never_kept import NothingEverKept
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import both

RULE = Rule("SF965", "best-state-never-kept", Severity.ERROR, __doc__)


@RULE.on(NothingEverKept)
def the_comparison_cannot_hold(broken: NothingEverKept, case: Case) -> Finding:
    choice = broken.choice
    lower = choice.lower_is_better
    wants_lower = not choice.keeps_greater if lower is None else lower
    start = 'float("inf")' if wants_lower else 'float("-inf")'
    edit = replaced(choice.source, broken.start, start)
    words = f"Begin with `{start}`, which every value is better than."
    place = Place(choice.source.file, broken.start.lineno)
    if wants_lower == choice.keeps_greater:
        edit = both(edit, choice.flip())
        words = f"Begin with `{start}`, and turn the comparison around."
        place = broken.use.place
    return case.finding(
        place,
        broken.said,
        facts=broken.facts,
        why=f"`{choice.metric_text}` is never {'above' if choice.keeps_greater else 'below'} what"
        f" `{choice.best_text}` is at first, and that is only replaced where the comparison holds.",
        remedies=(Change(to=edit, words=words, must=law_holds(broken, changes_the_past=False)),),
    )
