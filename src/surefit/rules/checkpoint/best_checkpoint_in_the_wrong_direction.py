"""The checkpoint that is kept as the best is the worst: the comparison is in the wrong direction.

## What happens
A Trainer with `metric_for_best_model="mae"` and no `greater_is_better` takes larger for better, as
it does for every name that does not end in `loss`. In a loop of one's own, `if val_loss > best:`
does the same.

## Why it matters
The run trains well, and what is loaded at its end, or lies in the file of the best, is the state of
the first epochs.

## What to do
Set `greater_is_better=False` for errors and `True` for scores; in a loop, turn the comparison and
start from `float("inf")` for a loss, from `float("-inf")` for a score.

## How it is recognised
Of a Trainer: over at least three evaluations the metric moves together with both the training loss
and the evaluation loss, and the end that goes with high losses is kept. Of a loop: the number that
is compared is the measured evaluation loss, or is named as an error or a score, and the state that
was kept has a higher loss than another that was not.
"""

import ast

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import Choice
from surefit.laws.evaluation.best_directions import LoopKeepsTheWorst, TrainerKeepsTheWorst
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both

RULE = Rule("SF962", "best-checkpoint-in-the-wrong-direction", Severity.ERROR, __doc__)

METRIC = "metric_for_best_model"


@RULE.on(TrainerKeepsTheWorst)
def the_metric_goes_the_other_way(broken: TrainerKeepsTheWorst, case: Case) -> Finding:
    best, place = broken.best, broken.use.place
    call, at = arguments_of(place, case)
    value = str(not best.greater)
    rule = (
        ""
        if best.greater_given
        else " Without `greater_is_better`, a Trainer takes larger for better unless the name of"
        " the metric ends in `loss`."
    )
    wanted = "smaller" if best.greater else "larger"
    return case.finding(
        at or place,
        broken.said,
        facts=broken.facts,
        why=f"`{best.metric}` is better where it is {wanted}.{rule}",
        remedies=(
            SetArgument(
                at=call,
                name="greater_is_better",
                value=value,
                words=f"Say which way is better: `greater_is_better={value}`.",
                must=law_holds(broken, changes_the_past=False),
            ),
        ),
    )


def arguments_of(place: Place, case: Case) -> tuple[Expression | None, Place | None]:
    """The call that was given the metric, and the line of that argument."""
    source = case.source(place)
    if source is None or place.line is None:
        return None, None
    for call in source.every(ast.Call):
        if call.lineno <= place.line <= (call.end_lineno or call.lineno):
            given = source.argument(call, METRIC)
            if given is not None:
                return case.expression(source, call), Place(source.file, given.lineno)
    return None, None


@RULE.on(LoopKeepsTheWorst)
def the_comparison_goes_the_other_way(broken: LoopKeepsTheWorst, case: Case) -> Finding:
    choice = broken.choice
    better, start = (
        ("lower", 'float("inf")')
        if broken.lower_is_better
        else (
            "higher",
            'float("-inf")',
        )
    )
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why=f"`{choice.metric_text}` is better where it is {better}; the state with the {better}"
        " value is passed over.",
        remedies=(
            Change(
                to=turned(choice, start),
                words=f"Turn the comparison around, and begin with `{start}`.",
                must=law_holds(broken, changes_the_past=False),
            ),
        ),
    )


def turned(choice: Choice, start: str) -> Edit:
    """The comparison, and what `best` is at first."""
    known = choice.start()
    if known is None:
        return choice.flip()
    return both(choice.flip(), replaced(choice.source, known[0], start))
