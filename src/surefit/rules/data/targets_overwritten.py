"""Targets are read from a tensor after it was written into: they hold what the model is given.

## What happens
Tokens are masked, or noise is added, in place: `ids[picked] = mask`. The labels are taken from the
same tensor afterwards, or by a second name for it: `original = ids` copies nothing.

## Why it matters
The target at each masked position is the mask itself. The loss is nearly zero within a few steps,
and the model cannot recover a single token.

## What to do
Copy before writing, `original = ids.clone()`, in NumPy `.copy()`; or take the labels first.

## How it is recognised
At a loss all targets from the loader were one and the same, or each was the very token that the
model was given at its position, in a model that sees all positions. And the source writes into a
tensor before it reads the targets from it, in one block.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.loss_predictions import OneTarget
from surefit.laws.losses.overwritten_targets import OverwrittenTarget, overwritten_targets
from surefit.laws.losses.token_targets import PickedTargetIsTheInput
from surefit.laws.runs import law_holds
from surefit.remedies.append import Append
from surefit.remedies.change import Change
from surefit.source.line_edits import moved_after

RULE = Rule("SF291", "targets-overwritten", Severity.ERROR, __doc__)

COPIES = (".clone()", ".copy()")


@RULE.on(OneTarget)
def all_targets_are_alike(broken: OneTarget, case: Case) -> Finding | None:
    return read_too_late(broken, case)


@RULE.on(PickedTargetIsTheInput)
def targets_are_what_the_model_is_given(
    broken: PickedTargetIsTheInput, case: Case
) -> Finding | None:
    return read_too_late(broken, case)


def read_too_late(broken: BrokenLaw, case: Case) -> Finding | None:
    every = [found for source in case.recording.sources() for found in overwritten_targets(source)]
    if not every:
        return None
    found = every[0]
    write = expression(found, found.write)
    how = (
        f"`{expression(found, found.alias).text}` copies nothing"
        if found.alias is not None
        else "they are taken from it afterwards"
    )
    return case.finding(
        expression(found, found.place).place,
        f"The targets hold what was written over them in place by `{write.text}`: {how}.",
        facts=broken.facts,
        why="An in-place write changes every name of the same memory, the targets too.",
        remedies=list(ways(found, broken, case)),
    )


def ways(found: OverwrittenTarget, broken: BrokenLaw, case: Case) -> Iterator[Append | Change]:
    must, source = law_holds(broken), found.source
    if found.alias is not None:
        at = case.expression(source, found.alias.value)
        for suffix in COPIES:
            words = f"Copy it before it is written into: `{suffix}`."
            yield Append(at=at, suffix=suffix, words=words, must=must, alike=False)
    if isinstance(found.target.value, ast.Call):
        words = "Take the targets first, and write afterwards."
        yield Change(to=moved_after(source, found.write, found.target), words=words, must=must)


def expression(found: OverwrittenTarget, statement: ast.stmt) -> Expression:
    text = found.source.segment(statement).partition("\n")[0]
    return Expression(Place(found.source.file, statement.lineno, statement.end_lineno), None, text)
