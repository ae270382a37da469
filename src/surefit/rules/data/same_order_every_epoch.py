"""Rows are shuffled in the same way in every epoch.

## What happens
A seed is set at the start of each epoch, a loader is created in each epoch with a generator of the
same seed, or `set_epoch` of a `DistributedSampler` is never called. The shuffle, and everything
else that is drawn, is then the same each time. `itertools.cycle(loader)` iterates over it
once, keeps its batches, and gives these again.

## Why it matters
The same rows meet in the same batch in every epoch, with the same noise and the same augmentation:
much of what shuffling and augmenting are for is lost.

## What to do
Set the seed once, before the first epoch. Call `sampler.set_epoch(epoch)` in each epoch. For
endless batches begin the loader again: `while True: yield from loader`.

## How it is recognised
The loader shuffles, and all epochs, three at least, begin with the same rows in the same order.
Or the loader is not asked again after its end, and its batches come again by content, in their
order. Silent for seeds that are set for each fold, and on loaders that are not meant to shuffle.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import SameOrderEveryEpoch
from surefit.laws.runs import law_holds
from surefit.laws.training.made_names import name_at
from surefit.remedies.change import Change
from surefit.remedies.row_plans import asked_again
from surefit.remedies.shuffling import epoch_set
from surefit.remedies.statements import Remove

RULE = Rule("SF270", "same-order-every-epoch", Severity.ERROR, __doc__)


@RULE.on(SameOrderEveryEpoch)
def the_same_shuffle_again(broken: SameOrderEveryEpoch, case: Case) -> Finding:
    use, site = broken.loader, broken.site
    if broken.replayed:
        return given_again(broken, case)
    cause = ""
    if use.replicas is not None and use.epochs_set < 2:
        cause = ": `set_epoch` is never called"
    elif site is not None:
        cause = f": `{site.function}({site.value})` is called in every epoch"
    return case.finding(
        broken.use.place,
        f"The training rows are shuffled in the same order in all {len(use.iterations)} epochs"
        f"{cause}.",
        facts=broken.facts,
        why="The same random state gives the same permutation, and the same augmentations after"
        " it.",
        remedies=(remedy(broken, case),),
    )


def given_again(broken: SameOrderEveryEpoch, case: Case) -> Finding:
    place = broken.loader.place
    loader = name_at(case.source(place), place)
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="`itertools.cycle` keeps what it is given the first time: the shuffle and every random"
        " augmentation are those of the first epoch.",
        remedies=(
            Change(
                to=asked_again(case, broken.use.place, loader),
                words="Begin the loader again after each pass.",
                must=law_holds(broken),
            ),
        ),
    )


def remedy(broken: SameOrderEveryEpoch, case: Case) -> Remove | Change | Fix:
    must = law_holds(broken)
    if broken.loader.replicas is not None and broken.loader.epochs_set < 2:
        edit = epoch_set(case, broken.loader.place)
        words = "Tell the sampler of each epoch: `sampler.set_epoch(epoch)`."
        return Change(to=edit, words=words, must=must) if edit is not None else Fix(words)
    if broken.site is not None:
        words = "Set the seed once, before the first epoch."
        return Remove(at=broken.use, words=words, must=must)
    return Fix(
        "Create the generator once, before the first epoch, or give each epoch its own seed."
    )
