"""One model is trained in all folds of a cross validation, without new weights for each.

## What happens
The model is created once, before the loop over the folds. In the second fold it goes on with the
weights of the first, which was trained on rows that the second fold holds out.

## Why it matters
From the second fold on the score measures memory: the model was trained on the held-out rows in an
earlier fold. Cross-validated accuracy is far too high; only the first fold is honest.

## What to do
Create the model and its optimizer inside the loop, so that each fold begins with new weights. Or
load the initial weights at the beginning of each fold.

## How it is recognised
The rows of the first evaluation are new to the model. Those of the next ones, which were never
evaluated before, are rows that the same model was trained on, by their content. Silent where
weights are set between folds (`load_state_dict`, `reset_parameters`, `nn.init`, a copy), and where
rows are split again in each epoch.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.disjoint_rows import TrainedInEarlierFold
from surefit.laws.model_before_loop import ModelBeforeLoop, model_before_loop
from surefit.laws.runs import law_holds
from surefit.remedies.into_the_loop import IntoTheLoop

RULE = Rule("SF531", "model-not-reset-between-folds", Severity.ERROR, __doc__)


@RULE.on(TrainedInEarlierFold)
def a_model_goes_on_to_the_next_fold(broken: TrainedInEarlierFold, case: Case) -> Finding | None:
    known, row = broken.trained, broken.evaluated
    found = model_before_loop(case.recording, row.stack, known.place, known.made_at)
    if found is None:
        return None
    folds = [fresh for fresh in row.rounds if fresh.rows]
    trained = sum(fresh.trained for fresh in folds[1:])
    rows = sum(fresh.rows for fresh in folds[1:])
    loop = Place(found.source.file, found.loop.lineno)
    return case.finding(
        Place(found.source.file, found.creation.lineno, found.creation.end_lineno),
        f"`{found.name}` is created once, before the loop over the folds, and keeps its weights"
        f" from fold to fold: {trained:,} of {counted(rows, 'row')} held out from the second fold"
        " on were already trained on in an earlier fold.",
        facts=(*broken.facts, Fact("the loop", str(loop))),
        why="A new fold needs a new model: this one has seen the rows of its test fold before.",
        remedies=(remedy(broken, found),),
    )


def remedy(broken: TrainedInEarlierFold, found: ModelBeforeLoop) -> IntoTheLoop | Fix:
    statements = found.moved
    names = [
        target.id
        for statement in statements[1:]
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    others = "".join(f" and `{name}`" for name in names)
    words = f"Create `{found.name}`{others} inside the loop: new weights for each fold."
    if not found.is_beside:
        return Fix(words)
    return IntoTheLoop(
        source=found.source,
        statements=tuple(statements),
        body=tuple(found.loop.body),
        words=words,
        must=law_holds(broken),
    )
