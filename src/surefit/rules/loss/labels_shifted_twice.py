"""Labels are shifted by one position twice: by the data, and again by the model or the loss.

## What happens
A dataset gives `input_ids=ids[:-1]` and `labels=ids[1:]`. Causal models of transformers shift
`labels` themselves, as does a loss on `logits[:, :-1]` and `labels[:, 1:]`. Position t is then
compared with the token at t + 2.

## Why it matters
Nothing is raised, and the loss falls as it should, because the token after next can be learned as
well. Generated text skips every other token.

## What to do
Shift once. For models of transformers give `labels` the same ids as `input_ids`; for a loss of your
own, shift either where rows are made or where the loss is computed.

## How it is recognised
Every target looked at equals the id that reached the model's embedding two positions later, not the
next one, and no other loss of the same step is on the next token, as with several heads.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.next_tokens import NextTokenIsTarget
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.built_targets import lineage_of_targets, shift_of_targets
from surefit.laws.losses.loss_calls import (
    WrittenLoss,
    chain_of,
    ends_before_last,
    loss_call_at,
    slice_of,
    starts_at_one,
    with_part,
)
from surefit.laws.losses.token_targets import TargetIsTheTokenAfterNext
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

RULE = Rule("SF423", "labels-shifted-twice", Severity.ERROR, __doc__)

Sides = tuple[Source, ast.expr, ast.expr]
"""Inputs and labels as they are written."""


@RULE.on(TargetIsTheTokenAfterNext)
def targets_are_the_tokens_after_next(broken: TargetIsTheTokenAfterNext, case: Case) -> Finding:
    site = broken.site
    loss = loss_call_at(case, site.place, site.name)
    sides = next((pair for source in case.recording.sources() for pair in shifts(source)), None)
    place = broken.use.place
    if sides is not None:
        source, _, labels = sides
        place = Place(source.file, labels.lineno, labels.end_lineno)
    shift = None
    if sides is None and loss is None:
        shift = shift_of_targets(case, lineage_of_targets(case, site.name, site.place))
        place = shift.place if shift is not None else place
    return case.finding(
        place,
        "The labels are shifted twice: the target of each position is the token two positions on,"
        " instead of the next token.",
        facts=broken.facts,
        why=f"The rows have labels that are already shifted by one, and {shifter(site.model, loss)}"
        " shifts them again: the model learns to predict the token after next.",
        remedies=(
            Change(
                to=same_ids(*sides) if sides else shift.unshifted if shift else None,
                words="Give the labels the same ids as the inputs: they are shifted afterwards.",
                must=NextTokenIsTarget(),
            ),
            Change(
                to=unshifted(loss) if loss is not None else None,
                words="Do not shift again in the loss.",
                must=NextTokenIsTarget(),
            ),
        ),
    )


def shifter(model: str, loss: WrittenLoss | None) -> str:
    return "the loss" if loss is not None else f"`{model}`"


def shifts(source: Source) -> Iterator[Sides]:
    """`ids[:-1]` and `ids[1:]` of one tensor, that are named, given or returned together."""
    for node in source.every(ast.Subscript):
        parts = slice_of(node)
        if parts is None or not starts_at_one(parts[1]):
            continue
        statement = source.statement_of(node)
        for other in neighbours(source, statement):
            before = slice_of(other)
            if before is None or not ends_before_last(before[1]):
                continue
            if source.segment(before[0]) == source.segment(parts[0]) and not is_logits(
                source, other
            ):
                yield source, other, node


def neighbours(source: Source, statement: ast.stmt) -> Iterator[ast.Subscript]:
    """Subscripts of a statement and of the others of its block."""
    parent = source.parents.get(statement)
    block = next(
        (
            value
            for value in vars(parent).values()
            if isinstance(value, list) and statement in value
        ),
        [statement],
    )
    for other in block:
        if isinstance(other, ast.FunctionDef | ast.ClassDef | ast.For | ast.While | ast.With):
            continue
        yield from (node for node in ast.walk(other) if isinstance(node, ast.Subscript))


def is_logits(source: Source, node: ast.expr) -> bool:
    return "logit" in source.segment(node)


def same_ids(source: Source, inputs: ast.expr, labels: ast.expr) -> Edit:
    return replaced(source, labels, source.segment(inputs))


def unshifted(loss: WrittenLoss) -> Edit | None:
    """Both sides of the loss without their slices."""
    source, edits = loss.source, []
    for node, fits in ((loss.predictions, ends_before_last), (loss.target, starts_at_one)):
        if node is None:
            return None
        whole, chain = chain_of(source, node)
        parts = slice_of(chain.base)
        if parts is None or not fits(parts[1]):
            return None
        inner = type(chain)(parts[0], chain.methods)
        edits.append(replaced(source, whole, with_part(source, inner, "")))
    return both(*edits)
