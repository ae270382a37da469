"""A seed is set in every training step, so that every step draws the same random numbers.

## What happens
`torch.manual_seed(42)` (or that of NumPy or Python) stands inside the training step or the loop
over batches. Noise, time steps, dropout masks, negative samples and augmentations are then the
same in every step.

## Why it matters
The model fits one draw of the noise by heart: the training loss falls far below what is possible on
new noise.

## What to do
Set seeds once, at the start of the script. Where evaluation is to use the same noise each time,
give it a `torch.Generator` of its own.

## How it is recognised
A line seeds with the same number at nearly all optimizer steps, a forward pass with gradients comes
after it, and random numbers were drawn before the next call. Silent where the number changes from
step to step, and for seeds that are set once an epoch or once a fold.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import SeededEveryStep
from surefit.laws.runs import law_holds
from surefit.remedies.statements import Remove

RULE = Rule("SF265", "seed-set-every-step", Severity.ERROR, __doc__)


@RULE.on(SeededEveryStep)
def the_same_draw_in_every_step(broken: SeededEveryStep, case: Case) -> Finding:
    site = broken.site
    return case.finding(
        site.place,
        f"`{site.function}` is called in every training step, each time with {site.value}: all"
        f" {site.steps:,} steps draw the same random numbers.",
        facts=broken.facts,
        why="After a seed the same numbers come again: the same noise, the same dropout mask, in"
        " every step. The model learns that one draw.",
        remedies=(
            Remove(
                at=broken.use,
                words="Leave it out here; set the seed once, before the first step.",
                must=law_holds(broken),
            ),
        ),
    )
