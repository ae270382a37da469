"""Rows are augmented before they are split, so that altered copies of training rows are held out.

## What happens
Noisy, flipped or scaled copies of each row are made, and then all rows are split at random into
training and validation. Versions of one original land on both sides.

## Why it matters
Validation accuracy measures whether the model recognises an original that it has seen in another
version. It is high, and falls on new data.

## What to do
Split the originals. Then augment the training rows alone, best while they are read.

## How it is recognised
Rows that reach the model in evaluation are compared with those that it was trained on: most of them
have a few training rows much nearer to them than the next ones are, or hold exactly the numbers of
a training row in another order. Silent on rows of integers, on few different numbers, and where
classes are such tight groups.
"""

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.disjoint import RowsOfItsOwn
from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.invariants.disjoint_rows import CopiesInBothSets
from surefit.laws.runs import law_holds
from surefit.remedies.after_split import AfterTheSplit

RULE = Rule("SF263", "augmented-before-the-split", Severity.ERROR, __doc__)


@RULE.on(CopiesInBothSets)
def versions_on_both_sides(broken: CopiesInBothSets, case: Case) -> Finding | None:
    copied, row = broken.copied, broken.evaluated
    if copied is None:
        return None
    count, looked = max((row.near, row.near_looked), (row.rearranged, row.rows))
    return case.finding(
        broken.use.place,
        f"Rows are augmented before the split: {count:,} of {looked:,} evaluated rows are altered"
        " copies of training rows.",
        facts=broken.facts,
        why="Versions of the same original are in the training set and in the evaluation: the"
        " copies leak what is to be measured.",
        remedies=(remedy(broken),),
    )


def remedy(broken: CopiesInBothSets) -> AfterTheSplit | Fix:
    assert broken.copied is not None
    names = ", ".join(code(name) for name in broken.copied.training.values())
    words = f"Split first, then augment the training rows alone: {names}."
    must = All((law_holds(broken), RowsOfItsOwn(steps=broken.steps)))
    return AfterTheSplit(copied=broken.copied, words=words, must=must)
