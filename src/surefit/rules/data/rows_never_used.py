"""Part of the training rows is never trained on: every epoch ends before the same rows.

## What happens
A loader that does not shuffle is left before its end in every epoch: by `islice`, by a `break`, by
`zip` with a shorter loader, or by `drop_last=True` where the last batch is a large part of the
rows. Each epoch takes the same first rows.

## Why it matters
The rows that are left out are often of one kind: the last files, the newest dates, one class.

## What to do
Shuffle, so that each epoch leaves out others; or iterate over all rows.

## How it is recognised
By the numbers of the rows that a sampler drew for training batches: after three epochs and more,
two or more brought no row that was not trained on before, and more than a fifth of the rows the
sampler draws from was never trained on. Silent where the script says that it uses a part.
"""

from surefit.doctor.conditions.coverage import MoreRowsUsed
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.loaders import loader_call
from surefit.laws.rows.row_faults import RowsNeverUsed
from surefit.remedies.change import Change
from surefit.remedies.shuffling import ShuffleRows
from surefit.source.edits import argument_added
from surefit.source.patches import Edit

RULE = Rule("SF287", "rows-never-used", Severity.ERROR, __doc__)


@RULE.on(RowsNeverUsed)
def epochs_end_before_the_same_rows(broken: RowsNeverUsed, case: Case) -> Finding:
    use = broken.loader
    drops = use.drops and use.finished > 0
    planned = use.coverage.planned if use.coverage is not None else 0
    must = MoreRowsUsed(planned=planned, used=broken.used, steps=broken.steps)
    shuffled = ShuffleRows(
        stack=use.stack,
        words="Shuffle, so that each epoch takes other rows: `shuffle=True`.",
        must=must,
        choice=True,
    )
    whole = Change(
        to=kept(case, broken) if drops else None,
        words="Keep the last batch: `drop_last=False`.",
        must=must,
        choice=True,
    )
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="The rows come in one order, and `drop_last` leaves out the same last ones each time."
        if drops
        else "The rows come in one order, and the loop ends before the same ones each time.",
        remedies=(whole, shuffled) if drops else (shuffled,),
    )


def kept(case: Case, broken: RowsNeverUsed) -> Edit | None:
    place = broken.loader.place
    source = case.source(place)
    call = loader_call(source, place) if source is not None and place is not None else None
    if source is None or call is None:
        return None
    return argument_added(source, call, "drop_last", "False")
