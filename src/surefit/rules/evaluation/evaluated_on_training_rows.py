"""A model is evaluated on the rows that it was trained on.

## What happens
The loader or the arrays that are meant for validation or test hold the training set: a wrong name
was passed, or both parts are made of the same rows.

## Why it matters
Validation accuracy then measures what the model remembers. It rises towards 100 % however poor the
model is on new data, and early stopping and the choice of the best checkpoint go by it.

## What to do
Evaluate on the held-out dataset. Where there is none, split the rows once, before anything is
trained.

## How it is recognised
Rows that reach the model in evaluation are compared by content with those that it was trained on
before. Practically all of them are equal, the names at the call say validation or test, and no
other evaluation has rows of its own. Silent where one dataset is all that the script has, where the
training set is monitored beside a real validation, in cross validation, and where one batch is
overfitted.
"""

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.disjoint import RowsOfItsOwn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.disjoint_rows import EvaluatedOnTrainingRows
from surefit.laws.runs import law_holds
from surefit.laws.training.made_names import name_at
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF561", "evaluated-on-training-rows", Severity.ERROR, __doc__)


@RULE.on(EvaluatedOnTrainingRows)
def evaluation_measures_memory(broken: EvaluatedOnTrainingRows, case: Case) -> Finding:
    row, unused = broken.evaluated, broken.unused
    loader = row.loader.place if row.loader is not None else None
    wrong = unused.instead_of if unused is not None else None
    name = name_at(case.source(loader), loader) if loader is not None else None
    what = f"`{name}`" if name else "The evaluation"
    instead = f" ({wrong.text})" if wrong is not None else ""
    never = f", and `{unused.name}` is never used" if unused is not None else ""
    return case.finding(
        wrong.place if wrong is not None else broken.use.place,
        f"{what} reads the training set{instead}: validation is done on training rows,"
        f" {row.equal:,} of {counted(row.rows, 'row')}{never}.",
        facts=broken.facts,
        ruled_out=(Fact("equal by chance", "no: rows of a training batch are not alike"),),
        why="Rows that a model has been trained on say what it remembers, not what it can do on new"
        " data.",
        remedies=(remedy(broken),),
    )


def remedy(broken: EvaluatedOnTrainingRows) -> ReplaceWith | Fix:
    unused = broken.unused
    if unused is None or unused.instead_of is None:
        return Fix("Evaluate on rows that are not trained on: split them before training.")
    must = All((law_holds(broken), RowsOfItsOwn(steps=broken.steps)))
    words = f"Use `{unused.name}` there, which {unused.place} creates."
    return ReplaceWith(at=unused.instead_of, text=unused.name, words=words, must=must)
