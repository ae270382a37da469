"""An optimizer was given the weights of layers and not their biases, which then never move.

## What happens
Parameters are often sorted into two groups by their names: biases and norms without weight decay,
all others with it. If the second group is forgotten, or a filter on names drops more than was
meant, the parameters left out get gradients and no step.

## Why it matters
The loss falls, and stays higher than it should.

## What to do
Give both groups to the optimizer: `Adam([{"params": decay}, {"params": no_decay, "weight_decay":
0.0}])`.

## How it is recognised
Two layers or more whose weight an optimizer holds have a bias that gets fresh gradients, that no
optimizer holds, and that does not change. Whole layers that are left out are a choice, and are not
reported.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, some
from surefit.laws.case import Case
from surefit.laws.invariants.weights_learn import LayerHeldInPart

RULE = Rule("SF615", "biases-left-out", Severity.ERROR, __doc__)


@RULE.on(LayerHeldInPart)
def biases_are_in_no_optimizer(broken: LayerHeldInPart, case: Case) -> Finding:
    names = [known.name for known in broken.outside]
    return case.finding(
        broken.use.place,
        broken.said,
        facts=(
            Fact("in no optimizer", some(names)),
            Fact("fresh gradients", f"at {counted(broken.outside[0].looked, 'step')} looked at"),
            Fact("they require grad", "yes"),
        ),
        why="An optimizer changes what it was given. A filter on names that drops the biases drops"
        " them from training.",
        remedies=(
            Fix(
                "Give the parameters that the filter drops to the optimizer as a group of their"
                ' own: `{"params": no_decay, "weight_decay": 0.0}`.',
                choice=True,
            ),
        ),
    )
