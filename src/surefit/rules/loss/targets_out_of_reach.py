"""Targets lie outside of what the predictions, or the loss, can be.

## What happens
A model ends in `sigmoid`, `tanh`, `softmax` or `relu`, and its targets go beyond that range: an
autoencoder of standardised inputs that ends in `sigmoid`, a regression of negative numbers that
ends in `relu`. Or a binary cross entropy, which takes numbers from 0 to 1, is given class indices
0, 1, 2.

## Why it matters
Nothing is raised. The model saturates at the edge of its range and the loss stays high; a binary
cross entropy of targets above 1 is not bounded and goes to minus infinity.

## What to do
Leave the last activation out, or scale the targets to its range. For class indices use
`nn.CrossEntropyLoss` with one output for each class.

## How it is recognised
The graph says which operation the predictions came out of, and targets are counted that lie outside
of what it can give: at least one in ten, or for a binary cross entropy one in a hundred.
"""

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.layers.last_activations import activation_before, without_activation
from surefit.laws.losses.loss_calls import loss_call_at
from surefit.laws.losses.loss_predictions import BINARY, OutOfReach
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change

RULE = Rule("SF429", "targets-out-of-reach", Severity.ERROR, __doc__)


@RULE.on(OutOfReach)
def predictions_cannot_be_the_targets(broken: OutOfReach, case: Case) -> Finding:
    site = broken.site
    if site.name in BINARY:
        fix: Remedy | Fix = Fix(
            "Use `nn.CrossEntropyLoss` with one output for each class, or targets of 0 and 1.",
            why_not_tried="your choice: the model must have another number of outputs",
        )
        why = "It weighs log(p) by the target and log(1 - p) by 1 - target, which is negative here."
        place = broken.use.place
    else:
        loss = loss_call_at(case, site.place, site.name)
        activation = activation_before(case, site.produced_by, loss)
        place = broken.use.place
        if activation is not None:
            call = activation.call
            place = Place(activation.source.file, call.lineno, call.end_lineno)
        fix = Change(
            to=without_activation(activation) if activation is not None else None,
            words=f"Leave `{site.produced_by}` out, so that every number can be predicted; or"
            " scale the targets to its range.",
            must=law_holds(broken),
            choice=True,
        )
        why = f"`{site.produced_by}` gives no other numbers, however long the model is trained."
    return case.finding(place, broken.said, facts=broken.facts, why=why, remedies=(fix,))
