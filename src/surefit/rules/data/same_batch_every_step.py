"""Every step trains on the same first batch: a new iterator is made each time.

## What happens
`next(iter(loader))` inside the training loop makes a new iterator at every step and takes its first
batch. A loader that does not shuffle begins with the same rows each time; `for batch in loader:`
with a `break` after the first does the same.

## Why it matters
The loss falls nicely, on a few rows, and the rest of the dataset is never trained on.

## What to do
Loop over the loader: `for batch in loader:`. Where steps are counted, make the iterator before the
loop and a new one when it ends.

## How it is recognised
Training batches are equal by content, each is the first of a new iterator, and the dataset has rows
for several batches. Silent where the batch is taken once before the loop, and where the script says
that it overfits one batch.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import SameBatchEveryStep
from surefit.laws.runs import law_holds
from surefit.remedies.shuffling import ShuffleRows

RULE = Rule("SF267", "same-batch-every-step", Severity.ERROR, __doc__)


@RULE.on(SameBatchEveryStep)
def a_new_iterator_at_every_step(broken: SameBatchEveryStep, case: Case) -> Finding:
    use = broken.loader
    return case.finding(
        broken.use.place,
        f"Every step trains on the same batch: {counted(use.repeated + 1, 'step')} took the first"
        f" {use.batch_size} of {use.rows:,} rows, each from a new iterator.",
        facts=broken.facts,
        why="`iter(loader)` begins again at the first row. Made in every step, it never comes to"
        " the second batch.",
        remedies=(
            ShuffleRows(
                stack=use.stack,
                words="Loop over the loader, or let each new iterator draw other rows:"
                " `shuffle=True`.",
                must=law_holds(broken),
                choice=True,
            ),
        ),
    )
