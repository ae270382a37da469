"""A model is trained in evaluation mode: dropout is off and batch norm is frozen.

## What happens
`model.eval()` for an evaluation is not taken back by `model.train()`, so that everything after the
first evaluation is trained in evaluation mode. Or the model comes from `from_pretrained`, which
gives it back in evaluation mode, and the loop never calls `model.train()`.

## Why it matters
Dropout is off, batch norm keeps old statistics, augmentation inside the model does nothing. The
training loss falls faster, and the model generalises worse; no message says so.

## What to do
Call `model.train()` at the end of each evaluation, or at the beginning of each epoch.

## How it is recognised
Optimizer steps are taken on the parameters of a model of which all calls with a backward pass were
made in evaluation mode, while it has dropout layers with p > 0 among parameters that require
gradients or, after an evaluation, batch norms or layers of the user's own that ask for
`self.training`. Silent for frozen parts, for batch norms that are put into evaluation mode by
themselves, and where the same step has calls in training mode, too.
"""

import ast

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import TrainedInEvaluationMode
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.set_mode import at_the_end_of_evaluation, before_it_learns, before_the_loop
from surefit.source.reading import Source, called

RULE = Rule("SF522", "training-in-evaluation-mode", Severity.ERROR, __doc__)


@RULE.on(TrainedInEvaluationMode)
def trained_in_evaluation_mode(broken: TrainedInEvaluationMode, case: Case) -> Finding:
    place = broken.use.place
    switched = broken.switched
    if switched is not None and switched.place is not None:
        place = switched.place
    must = law_holds(broken)
    remedies = []
    source = case.source(place)
    switch = eval_at(source, place) if source is not None and switched is not None else None
    if source is not None and switch is not None and broken.stuck:
        words = "Put the model back into training mode when the evaluation is done."
        edit = at_the_end_of_evaluation(source, switch)
        remedies.append(Change(to=edit, words=words, must=must))
    if not broken.stuck:
        words = f"Put the model in training mode before the loop: `{broken.name}.train()`."
        edit = before_the_loop(case, broken.learned_at)
        remedies.append(Change(to=edit, words=words, must=must))
    words = f"Put the model in training mode before it learns: `{broken.name}.train()`."
    edit = before_it_learns(case, broken.learned_at)
    remedies.append(Change(to=edit, words=words, must=must))
    return case.finding(place, broken.said, facts=broken.facts, why=why(broken), remedies=remedies)


def why(broken: TrainedInEvaluationMode) -> str:
    if broken.stuck:
        return (
            "`.eval()` for an evaluation stays in force until `.train()` is called again, and"
            " nobody calls it: the model stays in eval mode for the rest of training."
        )
    if broken.switched is not None:
        return "`.eval()` is called before training and `.train()` never."
    return "`from_pretrained` gives a model back in eval mode, and `.train()` is never called."


def eval_at(source: Source, place: Place) -> ast.Call | None:
    found = [
        call
        for call in source.calls_in(place.line or 0)
        if called(call) in ("eval", "train") and isinstance(call.func, ast.Attribute)
    ]
    return found[0] if len(found) == 1 else None
