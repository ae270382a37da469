"""Evaluation rows get the random transform of training.

## What happens
`random_split` and `Subset` cut the rows of one dataset in two. Both parts read the same dataset
object, with the one transform that it was created with: the random crops, flips and noise that are
meant for training are applied to the validation rows, too.

## Why it matters
The score is lower than the model's, and differs from epoch to epoch for the same rows. The best
epoch is chosen by luck.

## What to do
Create the dataset twice, once with each transform, and take the validation rows from the second:
`Subset(Images(root, eval_transform), val_set.indices)`.

## How it is recognised
A loader that keeps the order of its rows is read without gradients several times. Each time the
labels of its first batch are the same and the inputs are not; and its rows are another part of the
same dataset object, or have the same transform, as the training rows.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.repeated_rows import EvaluationRowsChange

RULE = Rule("SF556", "training-transform-in-evaluation", Severity.WARNING, __doc__)


@RULE.on(EvaluationRowsChange)
def evaluation_rows_are_augmented(broken: EvaluationRowsChange, case: Case) -> Finding:
    loader = broken.loader
    return case.finding(
        broken.use.place,
        "Validation rows are augmented at random, as in training: this loader gives other inputs"
        " for the same rows each time.",
        facts=broken.facts,
        why=f"Its rows come from the same `{loader.dataset}` as the training rows."
        if loader.shared == "dataset"
        else f"Its `{loader.dataset}` was created with the transform of the training rows.",
        remedies=(
            Fix(
                f"Take these rows from a `{loader.dataset}` of their own, created with the"
                " transform for evaluation: `Subset(dataset_for_evaluation, val_set.indices)`.",
                choice=True,
            ),
        ),
    )
