"""What a model is given in evaluation was prepared in another way than in training.

## What happens
Training data are normalised, tokenised or put in order by one piece of code, evaluation data by
another, and a step is missing, doubled or different in one of the two: validation pictures between
0 and 1 where training had mean 0 and width 1, columns in alphabetical order, texts without their
special tokens, a decoder that starts with another token.

## Why it matters
Every shape fits and nothing raises. The model sees inputs in evaluation that it never learned from;
the score says nothing about it, and the cause is looked for in the model.

## What to do
Prepare both by the same function, with what was measured on the training rows alone:
`(x_val - mean) / std` with the mean and width of `x_train`, `scaler.transform(test)`, the same
list of columns, the same settings of the tokenizer.

## How it is recognised
Of each argument of the model, a few figures are kept for calls that are learned from and for calls
that evaluate. Said where most features are more than ten times as wide or ten widths away, where
channels are below 0 in one phase alone, where features stand at other positions or are 0 in every
row of one phase alone, where all rows begin with different tokens, and where padding is masked in
training alone. Smaller differences of scale are told only where one phase has an expression that
makes them and the other has not.
Silent where another evaluation of the same model is like training.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.prepared_alike import PreparedOtherwise
from surefit.laws.rows.input_ways import parting_of
from surefit.laws.rows.prepared_rows import prepared_alike
from surefit.remedies.as_in_training import remedies

RULE = Rule("SF596", "evaluation-inputs-prepared-differently", Severity.ERROR, __doc__)

MOST_TRIED = 5


@RULE.on(PreparedOtherwise)
def evaluation_is_prepared_in_another_way(broken: PreparedOtherwise, case: Case) -> Finding | None:
    if broken.is_target or not (broken.certain or broken.clear):
        return None
    parting = parting_of(broken, case)
    fixes = list(remedies(parting, prepared_alike(broken)))[:MOST_TRIED] if parting else []
    if not fixes and not broken.certain:
        return None
    at = next((fix.at for fix in fixes if fix.at is not None), broken.use)
    return case.finding(
        at.place,
        broken.said,
        facts=broken.facts,
        why="The model learned from the one and is judged by the other.",
        remedies=fixes or [Fix("Prepare the evaluation by the code that prepares the training.")],
    )
