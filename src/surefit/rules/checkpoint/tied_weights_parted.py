"""Loading replaced weights that were tied by tensors of their own, so they are no longer tied.

## What happens
An embedding and an output layer that share one tensor are one parameter with two names.
`load_state_dict(..., assign=True)` puts the given tensors in the place of the parameters, each
under its own name: afterwards there are two.

## Why it matters
Both are trained on their own and drift apart. The model has more parameters than it was meant to
have, an optimizer that was created before holds only the old tensor, and what is saved cannot be
loaded where weights are tied.

## What to do
Load without `assign=True`, which copies into the tensors that are there; or tie the weights again
after loading, before the optimizer is created.

## How it is recognised
Two parameters of the model lie at one address before `load_state_dict` and at two after it.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.invariants.saving import TieBroken
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import DropArgument
from surefit.source.reading import called

RULE = Rule("SF964", "tied-weights-parted", Severity.WARNING, __doc__)


@RULE.on(TieBroken)
def a_load_has_parted_them(broken: TieBroken, case: Case) -> Finding | None:
    call = load_with_assign(broken, case)
    if broken.tie.in_file or call is None:
        return None
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="`assign=True` puts each given tensor in the place of a parameter, under one name.",
        remedies=(
            DropArgument(
                at=call,
                name="assign",
                words="Load without `assign=True`, into the tensors that are there.",
                must=law_holds(broken),
            ),
        ),
    )


def load_with_assign(broken: TieBroken, case: Case) -> Expression | None:
    place = broken.use.place
    source = case.source(place)
    if source is None or place.line is None:
        return None
    for call in source.calls_in(place.line):
        if called(call) == "load_state_dict" and any(
            word.arg == "assign" for word in call.keywords
        ):
            return case.expression(source, call)
    return None
