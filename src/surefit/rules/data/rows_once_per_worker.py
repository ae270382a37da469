"""Every worker of a loader reads a whole stream: each row comes once from each of them.

## What happens
An `IterableDataset` is copied to every worker, and each copy begins at the first row. With
`num_workers=2` every row comes twice in an epoch, with 8 workers eight times.

## Why it matters
An epoch is as many times as long as it seems, and so is the schedule. Validation counts each row
several times. Nothing is raised, and with `num_workers=0` all is well.

## What to do
Ask for the worker in `__iter__`, and give each its own part: `info = get_worker_info()`, then
`islice(rows, info.id, None, info.num_workers)`.

## How it is recognised
By content: all workers give the same batches, one after the other, or each row of a whole epoch
comes exactly as often as there are workers.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import RowsOncePerWorker
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.row_plans import shared_among_workers

RULE = Rule("SF286", "rows-once-per-worker", Severity.ERROR, __doc__)


@RULE.on(RowsOncePerWorker)
def each_worker_has_all_rows(broken: RowsOncePerWorker, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="Each worker gets a copy of the dataset, and `__iter__` of each copy begins at the"
        " first row.",
        remedies=(
            Change(
                to=shared_among_workers(case, broken.use.place),
                words="Give each worker its own part of the rows: `get_worker_info()`.",
                must=law_holds(broken),
            ),
        ),
    )
