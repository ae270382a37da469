"""Rows are repeated before they are split, so that copies of training rows are held out.

## What happens
A small or unbalanced table is made larger by repeating rows (`torch.cat([x, x])`, `repeat`,
`resample`, an oversampler), and then split at random into training and test rows. Copies of one row
land on both sides. Ranges of a split that overlap do the same.

## Why it matters
The test accuracy measures memory: a model that has learned nothing but its training rows by heart
is near 100 %.

## What to do
Split first. Then repeat the training rows alone.

## How it is recognised
Rows that reach the model in evaluation are compared by content with those that it was trained on
before: more of them are equal than rows of a training batch are to each other by chance; or the
source repeats rows before it splits them. Silent in cross validation and on data that have few
different rows.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.disjoint import RowsOfItsOwn
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.invariants.disjoint_rows import RowsInBothSets
from surefit.laws.rows.copied_rows import CopiedBeforeSplit
from surefit.laws.runs import law_holds
from surefit.remedies.after_split import AfterTheSplit

RULE = Rule("SF262", "rows-copied-before-the-split", Severity.ERROR, __doc__)


@RULE.on(RowsInBothSets)
def copies_on_both_sides(broken: RowsInBothSets, case: Case) -> Iterator[Finding]:
    copied, row = broken.copied, broken.evaluated
    if copied is None:
        return
    yield case.finding(
        broken.use.place,
        f"Rows are copied before the split: {row.equal:,} of"
        f" {counted(row.rows, 'different evaluated row')} are also in the training set.",
        facts=broken.facts,
        why=f"{split_at(copied)} deals out copies of the same row to both sides: duplicates of"
        " training rows leak into the evaluation.",
        remedies=(remedy(broken, copied),),
    )


def split_at(copied: CopiedBeforeSplit) -> str:
    split = copied.splitting[0]
    return f"The split at {Place(copied.source.file, split.lineno)}"


def remedy(broken: RowsInBothSets, copied: CopiedBeforeSplit) -> AfterTheSplit | Fix:
    names = ", ".join(code(name) for name in copied.training.values())
    words = f"Split first, then copy the training rows alone: {names}."
    must = All((law_holds(broken), RowsOfItsOwn(steps=broken.steps)))
    return AfterTheSplit(copied=copied, words=words, must=must)
