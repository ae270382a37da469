"""A loss that takes targets of 1 and -1 is given 1 and 0.

## What happens
`cosine_embedding_loss`, `margin_ranking_loss`, `hinge_embedding_loss` and `soft_margin_loss` take 1
for pairs that belong together and -1 for others. Labels of 0 and 1 are given, as for a cross
entropy.

## Why it matters
Nothing is raised. A target of 0 is neither case: its row gets no gradient, or that of both. The
model never learns what does not belong together, and all embeddings come to be alike.

## What to do
Use `2 * labels - 1`.

## How it is recognised
Targets were counted at the loss: some are 0, and none is -1. Where there are some of -1, zeros can
be ties, and nothing is said.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.measures.loss_preconditions import SIGNS
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.losses.loss_calls import loss_call_at
from surefit.laws.losses.loss_preconditions import TargetsNotSigns
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import wrapped

RULE = Rule("SF439", "targets-of-zero-and-one", Severity.ERROR, __doc__)


@RULE.on(TargetsNotSigns)
def zeros_stand_for_minus_one(broken: TargetsNotSigns, case: Case) -> Finding:
    site = broken.checked
    loss = loss_call_at(case, site.place, site.name)
    target = loss.source.argument(loss.call, "target", SIGNS[site.name]) if loss else None
    edit = wrapped(loss.source, target, "2 * ", " - 1") if loss and target else None
    return case.finding(
        broken.use.place,
        f"{code(site.name)} takes targets of 1 and -1 and is given 1 and 0: {site.zeros:,} of"
        f" {site.elements:,} are 0.",
        facts=broken.facts,
        why="A target of 0 is neither a pair that belongs together nor one that does not.",
        remedies=(
            Change(to=edit, words="Turn 0 into -1: `2 * target - 1`.", must=law_holds(broken)),
        ),
    )
