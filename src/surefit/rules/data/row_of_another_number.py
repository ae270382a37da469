"""A dataset gives the same row for different numbers: a cache with the wrong key.

## What happens
`__getitem__` keeps what it has read under a key that several rows share: a label, a file name
without its folder, a position in a batch. The first row of each key is given for all others.

## Why it matters
The model sees a few rows over and over, with the labels of others. Nothing is raised.

## What to do
Keep rows under their own number.

## How it is recognised
In the first epoch, by content: rows come as the exact copy of a row with another number, which is
stored so in an array of the dataset, while the array has other values at the row's own number. A
dataset that maps numbers to rows on purpose gives no row as it is stored under its number.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import OneRowForMany

RULE = Rule("SF589", "row-of-another-number", Severity.ERROR, __doc__)


@RULE.on(OneRowForMany)
def rows_come_as_others(broken: OneRowForMany, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="What is kept from an earlier row is given for this one: the key does not tell the two"
        " apart.",
        remedies=(
            Fix(
                "Keep each row under its own number.",
                why_not_tried="which key tells rows apart is yours to say",
            ),
        ),
    )
