"""An optimizer or a scheduler is created again in every epoch.

## What happens
A new optimizer has no momentum and no averages; a new scheduler begins its plan at the first step.
Inside the loop over epochs both forget all that came before.

## Why it matters
The learning rate goes through the first part of its plan again and again, Adam begins each epoch
with the large steps of its first ones, and the loss saws.

## What to do
Create optimizer and scheduler once, before the loop.

## How it is recognised
One line created an optimizer that keeps state, or a scheduler that was stepped, for the same
parameters, about once per epoch and three times at least. Runs that load weights in between, as
rounds of federated learning do, are not judged.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.runs import law_holds
from surefit.laws.training.made_names import name_at
from surefit.laws.training.rate_violations import OptimizerCreatedAgain
from surefit.remedies.change import Change
from surefit.source.edits import inserted_before, removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, names_within

RULE = Rule("SF677", "optimizer-created-per-epoch", Severity.WARNING, __doc__)


@RULE.on(OptimizerCreatedAgain)
def it_forgets_at_every_epoch(broken: OptimizerCreatedAgain, case: Case) -> Finding:
    place, schedule = broken.use.place, broken.schedule
    source = case.source(place)
    kind = schedule.kind if schedule else broken.courses[0].kind
    name = name_at(source, place) or kind
    lost = "its schedule starts over" if schedule else "momentum and averages are lost"
    words = f"Create `{name}` once, before the loop over epochs."
    edit = before_the_loop(source, place.line or 0) if source else None
    return case.finding(
        place,
        f"`{name}` (`{kind}`) is created again in every epoch for the same parameters: {lost} each"
        " time.",
        facts=broken.facts,
        why="What an optimizer has gathered, and how far a scheduler has come, lies in the object.",
        remedies=(Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words),),
    )


def before_the_loop(source: Source, line: int) -> Edit | None:
    """The statement put before the outermost loop of its function, if nothing that the loop binds
    is in it."""
    statement = source.statement_at(line)
    loops = list(source.loops_around(statement)) if statement else []
    if statement is None or not loops or shares_lines(source, statement):
        return None
    bound = set(names_within(loops[-1], ast.Store))
    read = set(names_within(statement, ast.Load))
    if bound & read:
        return None
    text = source.segment(statement)
    return both(removed(source, statement), inserted_before(source, loops[-1], text))
