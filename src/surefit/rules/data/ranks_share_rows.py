"""Processes of a data-parallel run train on the same rows.

## What happens
Each rank creates its own `DataLoader` over the whole dataset. Without a `DistributedSampler`, and
with the same seed, all of them draw the same rows in the same order.

## Why it matters
The average over ranks is that of one: an epoch takes as many steps as with one process, and the
effective batch is as small, while all devices are busy.

## What to do
`DataLoader(dataset, sampler=DistributedSampler(dataset))`, and `sampler.set_epoch(epoch)` in each
epoch, so that each epoch has another order.

## How it is recognised
The model is wrapped to average gradients over processes, and the first batches of all ranks are
identical by content, while they differ from step to step. Silent where ranks split a model, not the
rows, and where one batch is overfitted.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import RanksShareRows
from surefit.laws.runs import law_holds
from surefit.remedies.shuffling import ShardRows

RULE = Rule("SF266", "ranks-share-rows", Severity.ERROR, __doc__)


@RULE.on(RanksShareRows)
def every_rank_has_all_rows(broken: RanksShareRows, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        f"All {broken.ranks} ranks train on the same batches: the rows are not sharded by a"
        " `DistributedSampler`.",
        facts=broken.facts,
        why="Each process has a loader of its own over all rows, and draws the same ones. Averaging"
        " equal gradients adds nothing.",
        remedies=(
            ShardRows(
                place=broken.loader.place,
                words="Give each rank its own part: `sampler=DistributedSampler(...)`.",
                must=law_holds(broken),
            ),
        ),
    )
