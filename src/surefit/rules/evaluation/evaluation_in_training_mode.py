"""A model is evaluated in training mode, so that dropout or batch norm falsify what is measured.

## What happens
A model is measured without `model.eval()` before it. Dropout still leaves out activations at
random, and batch norm uses the mean and variance of the batch instead of its running statistics;
`torch.no_grad()` changes neither.

## Why it matters
Nothing is reported. The numbers are those of another, noisier model, they differ from call to call,
and batch norm takes the evaluation rows into its running statistics.

## What to do
Call `model.eval()` before the evaluation and `model.train()` after it.

## How it is recognised
Calls that no backward pass goes through, of a model that learns elsewhere, are made in training
mode while dropout layers with p > 0 or batch norms are in that mode, and what comes back is
compared or goes into a loss or a metric. Silent where the same input is given again and again
(Monte Carlo dropout), where the input is that of the training call, where the result is the target
of a loss, and where it is only looked at (samples of a generator).
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import EvaluatedInTrainingMode
from surefit.laws.loss_sources import call_at
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.set_mode import evaluated_so
from surefit.source.reading import dotted

RULE = Rule("SF521", "evaluation-in-training-mode", Severity.ERROR, __doc__)

WHY = (
    "`model.eval()` is not called before this evaluation, so it runs in train mode: dropout leaves"
    " out activations at random and batch norm follows the rows of the batch. `torch.no_grad()`"
    " does not change the mode."
)


@RULE.on(EvaluatedInTrainingMode)
def measured_in_training_mode(broken: EvaluatedInTrainingMode, case: Case) -> Finding:
    source = case.source(broken.use.place)
    site = broken.calls.site
    call = call_at(source, site) if source is not None and site is not None else None
    edit = evaluated_so(source, call, broken.name) if source and call else None
    name = dotted(call.func) if call is not None else broken.name
    words = f"Put the model in evaluation mode for it: `{name}.eval()`, then `{name}.train()`."
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why=WHY,
        remedies=(Change(to=edit, words=words, must=law_holds(broken)),),
    )
