"""A tied weight is replaced by a new parameter in one layer: the tie is broken.

## What happens
`decoder.weight = embed.weight` makes two layers share one parameter. `embed.weight =
nn.Parameter(vectors)` later puts a new one into the first layer alone; the second keeps the old
one.

## Why it matters
The layers are no longer tied. The one that is left behind starts from the old values, and an
optimizer that is given each shared weight once may not hold it at all.

## What to do
Write into the parameter that is there: `embed.weight.data.copy_(vectors)`, or tie the layers again
after it: `decoder.weight = embed.weight`.

## How it is recognised
A parameter was registered in two layers; then a line put another parameter of the same shape and
of other values into one of them, and when an optimizer stepped the other layer still had the old
one. A copy with the same values unties layers on purpose.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.ties_stay import TieReplaced
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import called

RULE = Rule("SF359", "tied-weight-replaced", Severity.ERROR, __doc__)


@RULE.on(TieReplaced)
def new_parameter_breaks_the_tie(broken: TieReplaced, case: Case) -> Finding:
    tie = broken.tie
    return case.finding(
        broken.use.place,
        f"The tie of {code(tie.replaced)} and {code(tie.left)} is broken: a new parameter replaces"
        f" the shared one here, and {code(tie.left)} keeps the old tensor.",
        facts=broken.facts,
        why="An assignment puts another parameter into one layer. Layers that shared the old one"
        " do not follow: they are trained apart, or not at all.",
        remedies=list(ways(broken, case)),
    )


def ways(broken: TieReplaced, case: Case) -> Iterator[Remedy]:
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source is not None and line else None
    if source is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    value = statement.value
    if isinstance(value, ast.Call) and called(value) == "Parameter" and value.args:
        value = value.args[0]
    target = source.segment(statement.targets[0])
    text = f"{target}.data.copy_({source.segment(value)})"
    yield Change(
        to=replaced(source, statement, text),
        words="Write into the shared parameter, in place of a new one.",
        must=law_holds(broken),
    )
