"""Workers of a loader draw the same random numbers.

## What happens
A `worker_init_fn` sets the same seed in every worker; or the dataset holds a generator
(`self.rng = np.random.default_rng(0)`) that its `__getitem__` draws from. Each worker gets a copy
of the dataset, in every epoch again, and with it the same generator in the same state.

## Why it matters
Augmentations repeat: rows of different workers get the same crop and the same noise, and every
epoch the same as the one before. Nothing is raised.

## What to do
Leave seeds of workers to torch, which gives each worker and epoch its own, for Python and NumPy,
too. Draw from `np.random` or torch in `__getitem__`, or create the generator there from
`torch.initial_seed()`.

## How it is recognised
A line seeds with the same number in several workers; or an attribute of the dataset is a random
generator that `__getitem__` names, and the loader has workers.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import WorkersDrawAlike
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import DropArgument, keyword_of

RULE = Rule("SF271", "random-numbers-repeat-in-workers", Severity.ERROR, __doc__)


@RULE.on(WorkersDrawAlike)
def augmentations_repeat(broken: WorkersDrawAlike, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="Workers that begin in the same random state give different rows the same noise and the"
        " same augmentation.",
        remedies=(remedy(broken, case),),
    )


def remedy(broken: WorkersDrawAlike, case: Case) -> DropArgument | Fix:
    if broken.site is None:
        return Fix(
            "Draw from `np.random` in `__getitem__`, which torch seeds in each worker; or create"
            " the generator there, from `torch.initial_seed()`."
        )
    words = "Leave out `worker_init_fn`: torch seeds each worker, Python and NumPy among it."
    for source in case.recording.sources():
        for call in source.calls_named("DataLoader"):
            if keyword_of(call, "worker_init_fn") is not None:
                at = case.expression(source, call)
                must = law_holds(broken)
                return DropArgument(at=at, name="worker_init_fn", words=words, must=must)
    return Fix(words)
