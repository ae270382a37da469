"""The targets of an evaluation loss are on another scale than those that the model learned.

## What happens
Targets are standardised, or their logarithm is taken, for training. The evaluation loss compares
the model's predictions, which are on that scale, with targets as they were read from the file.

## Why it matters
The evaluation loss is the size of the targets, whatever the model predicts. It hardly changes from
epoch to epoch, and choosing the best epoch by it is choosing by chance.

## What to do
Bring both to one scale: prepare the evaluation targets as the training targets, with the mean and
width of the training rows, or convert the predictions back before they are compared.

## How it is recognised
A loss of numbers is given targets in evaluation that are more than ten times as wide as those of
training, or ten widths away, and predictions that are not. Silent where predictions were converted
back, and where another evaluation has targets like those of training.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.prepared_alike import PreparedOtherwise
from surefit.laws.rows.input_ways import parting_of
from surefit.laws.rows.prepared_rows import prepared_alike
from surefit.remedies.as_in_training import remedies

RULE = Rule("SF597", "evaluation-targets-on-another-scale", Severity.ERROR, __doc__)

MOST_TRIED = 4


@RULE.on(PreparedOtherwise)
def evaluation_targets_have_another_scale(broken: PreparedOtherwise, case: Case) -> Finding | None:
    if not broken.is_target or not broken.certain:
        return None
    parting = parting_of(broken, case)
    fixes = list(remedies(parting, prepared_alike(broken)))[:MOST_TRIED] if parting else []
    at = next((fix.at for fix in fixes if fix.at is not None), broken.use)
    words = "Prepare the targets of the evaluation as those of the training, or convert the"
    return case.finding(
        at.place,
        broken.said,
        facts=broken.facts,
        why="The model predicts on the scale that it learned; the loss of the evaluation is the"
        " distance between the two scales.",
        remedies=fixes or [Fix(f"{words} predictions back.")],
    )
