"""A sampler, class weights or a mask is prepared and never passed on.

## What happens
A value is computed or comes with the batch, and nothing reads it, while a call beside it has a
parameter of that very name and uses its default: a `DataLoader` without the sampler, a loss without
the class weights, a model without the mask.

## Why it matters
Nothing is raised, because the parameter has a default. The run trains as if the line were not
there: rare classes stay rare, padding is attended to.

## What to do
Pass it. If it is left over from an experiment, remove the line.

## How it is recognised
The source binds the name once and nothing reads it; one call after it in the same function takes an
argument of this name or role and is not given it.
"""

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.influence import LossesChange
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.used_values import NotPassed
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import call_at, keyword_of
from surefit.remedies.change import Change
from surefit.source.edits import argument_added
from surefit.source.patches import Edit, Replace

RULE = Rule("SF437", "prepared-and-never-passed", Severity.WARNING, __doc__)


@RULE.on(NotPassed)
def a_call_lacks_what_was_prepared(broken: NotPassed, case: Case) -> Finding:
    must = All((law_holds(broken), LossesChange(name=broken.name, steps=broken.steps)))
    return case.finding(
        broken.call.place,
        f"`{broken.name}` is prepared and never used: `{broken.callee}` takes `{broken.argument}`"
        " and is not given it.",
        facts=broken.facts,
        why=f"Without `{broken.argument}` the call uses its default, silently.",
        remedies=(
            Change(
                to=passed(broken, case),
                words=f"Pass it: `{broken.argument}={broken.name}`. If it is left over, remove it.",
                must=must,
            ),
        ),
    )


def passed(broken: NotPassed, case: Case) -> Edit | None:
    """A loader takes a sampler or shuffles, not both."""
    source, call = call_at(case, broken.call)
    if source is None or call is None:
        return None
    shuffles = keyword_of(call, "shuffle") if broken.argument == "sampler" else None
    if shuffles is not None:
        text = f"{broken.argument}={broken.name}"
        return Edit(source.file, (Replace(source.span(shuffles), text),))
    return argument_added(source, call, broken.argument, broken.name)
