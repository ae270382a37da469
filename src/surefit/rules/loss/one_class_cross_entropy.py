"""A softmax over a single class is always 1, and the loss never changes.

## What happens
A model for two classes has one output, and its loss is `nn.CrossEntropyLoss`: over one class the
softmax is 1 and its logarithm 0. Or `softmax(dim=1)` follows a layer with one output.

## Why it matters
Nothing is raised where the targets are floats of the same shape. The loss is exactly 0 from the
first step, every gradient is zero, and accuracy is that of a constant answer.

## What to do
With one output use `nn.BCEWithLogitsLoss`, and `sigmoid` to predict. With `nn.CrossEntropyLoss` the
model needs one output for each class.

## How it is recognised
The class axis of what `cross_entropy` was given has size 1, or the axis of the last softmax has.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import NOT_FOUND, Case, Remedy
from surefit.laws.losses.loss_calls import loss_call_at, sibling
from surefit.laws.losses.loss_predictions import OneClass
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change

RULE = Rule("SF430", "one-class-cross-entropy", Severity.ERROR, __doc__)

BINARY = "binary_cross_entropy_with_logits"


@RULE.on(OneClass)
def softmax_is_always_one(broken: OneClass, case: Case) -> Finding:
    site = broken.site
    loss = loss_call_at(case, site.place, site.name)
    words = "With one output, use `BCEWithLogitsLoss`, which applies `sigmoid`."
    fix: Remedy | Fix = Fix(words, why_not_tried=NOT_FOUND)
    place = broken.use.place
    if loss is not None and site.name == "cross_entropy":
        place = loss.place
        if site.target_shape == site.shape:
            fix = Change(to=sibling(loss, BINARY), words=words, must=law_holds(broken))
    return case.finding(
        place,
        broken.said,
        facts=broken.facts,
        why="A softmax divides each number by the sum over its axis: of a single number that is 1,"
        " whatever the model predicts, and its gradient is zero.",
        remedies=(fix,),
    )
