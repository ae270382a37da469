"""Training rows come sorted by class and are not shuffled: each batch holds a single class.

## What happens
Folders of classes are read one after the other, and a `DataLoader` does not shuffle unless it is
told to (`shuffle=False` is the default). All rows of the first class come first, then all of the
second.

## Why it matters
Within a run of one class the model learns to say that class alone, and forgets the others. The loss
stays near that of guessing, and evaluation finds little but the last class.

## What to do
`shuffle=True` on the training loader; without a loader, a new `torch.randperm` in each epoch.

## How it is recognised
Nearly all training batches hold rows of one class only, there are several classes, and their labels
come in one run for each class. Silent where a sampler of the user's draws rows or batches, on
streams, and on a single pass through classes without a loader, as in a curriculum.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import SortedByClass
from surefit.laws.runs import law_holds
from surefit.remedies.shuffling import ShuffleRows

RULE = Rule("SF264", "sorted-rows-not-shuffled", Severity.ERROR, __doc__)


@RULE.on(SortedByClass)
def every_batch_has_one_class(broken: SortedByClass, case: Case) -> Finding:
    order = broken.order
    return case.finding(
        broken.use.place,
        f"The training rows are sorted by class and not shuffled: {order.single:,} of"
        f" {counted(order.batches, 'batch')} hold a single class of {order.classes}.",
        facts=(*broken.facts, *sampler(broken)),
        why="While rows of one class come, the model learns to predict that class and forgets the"
        " others.",
        remedies=(remedy(broken),),
    )


def sampler(broken: SortedByClass) -> Iterator[Fact]:
    if broken.loader is not None:
        yield Fact("sampler", f"{broken.loader.sampler}, `shuffle` is not set to True")


def remedy(broken: SortedByClass) -> ShuffleRows | Fix:
    if broken.loader is None:
        return Fix("Take the rows in a new random order in each epoch: `torch.randperm(len(x))`.")
    return ShuffleRows(
        stack=broken.loader.stack,
        words="ShuffleRows the training rows: `shuffle=True`.",
        must=law_holds(broken),
    )
