"""A sampler draws the row numbers of another dataset than its loader reads.

## What happens
`DataLoader(train_set, sampler=RandomSampler(valid_set))`: the sampler draws numbers up to the
length of the set it was created with. They are valid row numbers of the loader's dataset, too.

## Why it matters
With a shorter set only the first rows are ever trained on. Nothing is raised, and the loss falls.

## What to do
Create the sampler with the dataset that the loader reads.

## How it is recognised
The sampler of a training loader holds another dataset than the loader, with fewer rows. Silent
where both have the same length: one is often a view of the other.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import SamplerOfOtherRows
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.row_plans import of_own_rows

RULE = Rule("SF288", "sampler-of-another-dataset", Severity.ERROR, __doc__)


@RULE.on(SamplerOfOtherRows)
def numbers_of_other_rows(broken: SamplerOfOtherRows, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="A sampler draws numbers below the length of the dataset it was created with; the"
        " loader looks them up in its own.",
        remedies=(
            Change(
                to=of_own_rows(case, broken.loader.place),
                words="Create the sampler with the loader's dataset.",
                must=law_holds(broken),
            ),
        ),
    )
