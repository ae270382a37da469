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

import ast
from dataclasses import replace

from surefit.doctor.conditions.condition import All
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import EvaluatedInTrainingMode, TrainedInEvaluationMode
from surefit.laws.losses.loss_sources import call_at
from surefit.laws.runs import LawHolds, law_holds
from surefit.remedies.change import Change
from surefit.remedies.set_mode import evaluated_so, name_in_caller
from surefit.source.reading import Source, dotted

RULE = Rule("SF521", "evaluation-in-training-mode", Severity.ERROR, __doc__)

WHY = (
    "`model.eval()` is not called before this evaluation, so it runs in train mode: dropout leaves"
    " out activations at random and batch norm follows the rows of the batch. `torch.no_grad()`"
    " does not change the mode."
)


@RULE.on(EvaluatedInTrainingMode)
def measured_in_training_mode(broken: EvaluatedInTrainingMode, case: Case) -> Finding:
    source = case.source(broken.use.place)
    call, name = evaluation(broken, source) if source is not None else (None, "")
    edit = evaluated_so(source, call, name) if source and call and name else None
    shown = name or broken.name
    words = f"Put the model in evaluation mode for it: `{shown}.eval()`, then `{shown}.train()`."
    both = (law_holds(broken), still_trained(broken))
    return case.finding(
        Place(broken.use.place.file, call.lineno) if call is not None else broken.use.place,
        broken.said,
        facts=broken.facts,
        why=WHY,
        remedies=(Change(to=edit, words=words, must=All(both)),),
    )


def evaluation(broken: EvaluatedInTrainingMode, source: Source) -> tuple[ast.Call | None, str]:
    """The call around which the mode is to be set, and the name of the model there. A line that
    training runs, too, is left alone: its caller knows that it evaluates."""
    site, outer = broken.calls.site, broken.calls.caller
    call = call_at(source, site) if site is not None else None
    if not broken.shared or call is None:
        return call, dotted(call.func) if call is not None else ""
    caller = None
    if outer is not None and outer.place.file == source.file:
        caller = call_at(source, outer)
    return caller, name_in_caller(source, call, caller) if caller is not None else ""


def still_trained(broken: EvaluatedInTrainingMode) -> LawHolds:
    """The model must not learn in evaluation mode instead."""
    return replace(law_holds(broken), kind=TrainedInEvaluationMode.__name__)
