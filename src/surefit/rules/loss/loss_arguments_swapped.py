"""A loss is given the targets first and the predictions second.

## What happens
Losses of torch take `input`, the predictions, and then `target`. Other libraries have it the other
way round. `F.binary_cross_entropy(y, p)` runs: it takes the labels for predictions.

## Why it matters
Nothing is raised, and the gradient goes through the second argument. What is minimised is not the
cross entropy: the gradient is the same however wrong a prediction is, and labels of exactly 0 and 1
make it infinite.

## What to do
`loss(predictions, targets)`.

## How it is recognised
At every call looked at, the second argument belongs to a graph and the first does not. Losses that
are the same both ways, such as `mse_loss`, are not looked at.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.loss_predictions import SidesSwapped
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both

RULE = Rule("SF431", "loss-arguments-swapped", Severity.ERROR, __doc__)


@RULE.on(SidesSwapped)
def targets_are_given_first(broken: SidesSwapped, case: Case) -> Finding:
    loss = loss_call_at(case, broken.site.place, broken.site.name)
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="The first argument is what the loss takes the logarithm of.",
        remedies=(
            Change(
                to=swapped(loss) if loss is not None else None,
                words="Give the predictions first and the targets second.",
                must=law_holds(broken),
            ),
        ),
    )


def swapped(loss: WrittenLoss) -> Edit | None:
    source, first, second = loss.source, loss.predictions, loss.target
    if first is None or second is None:
        return None
    texts = source.segment(first), source.segment(second)
    return both(replaced(source, first, texts[1]), replaced(source, second, texts[0]))
