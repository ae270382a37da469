"""A divergence counts padded positions, which the loss beside it leaves out.

## What happens
Cross entropy ignores padded positions, whose label is -100. `kl_div` has no such label: it compares
what both models predict at every position, and a mean over all positions counts padding as well.

## Why it matters
Nothing is raised, and the loss falls. The student is trained to copy what the teacher predicts for
padding, and the more padding a batch has, the less the real positions count.

## What to do
Pick the real positions before the mean: `kl[mask != 0].mean()`, or `kl_div` of
`student[mask != 0]` and `teacher[mask != 0]`.

## How it is recognised
The frames that a divergence is computed in hold a mask of its rows and places that is ones and then
zeros; or another mask, or labels of -100, where the ids of the batch repeat one token. The backward
pass gives these places a gradient as it does others. A cross entropy that counts them, too, shows
that they are meant: of these nothing is said.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.divergences import PaddingLeftOut
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import DivergenceSeen, PaddingSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.losses.divergences import Divergence, divergences_seen, over_looked
from surefit.remedies.without_padding import mended, mended_by_the_caller, reduced_by

RULE = Rule("SF958", "padding-in-the-divergence", Severity.ERROR, __doc__)

OF_CLASSES = ("cross_entropy", "nll_loss")


@RULE.on(Steps)
def padded_places_count(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for one in divergences_seen(steps, seen):
        padded = [call for call in one.seen if call.padding is not None and call.padding.padded]
        if padded and all(is_counted(call) for call in padded):
            yield finding(one, next((call for call in padded if call.beside), padded[0]))


def is_counted(call: DivergenceSeen) -> bool:
    """All of its padding that was looked at, and no loss beside it counts padding as well."""
    padding = call.padding
    if padding is None or not call.place_weight or not padding.counted or not call.given.kind:
        return False
    supervised = [one.labels - one.ignored for one in call.beside if one.name in OF_CLASSES]
    return not padding.spared and all(many <= real_places(call) for many in supervised)


def real_places(call: DivergenceSeen) -> int:
    return call.places - (call.padding.padded if call.padding is not None else 0)


def finding(one: Divergence, call: DivergenceSeen) -> Finding:
    assert call.padding is not None
    reducing = reduced_by(one) if call.reduction == "none" else None
    share = call.padding.share
    made = f": they make {share:.0%} of its term{over_looked(call)}" if share else ""
    return RULE.finding(
        one.place if reducing is None else one.place_of(reducing),
        f"{one.name} counts {call.padding.padded:,} of {counted(call.places, 'position')} that are"
        f" padding{made}.",
        facts=tuple(facts(call, call.padding)),
        why="What the models predict after the end of a row means nothing; averaged over all"
        " positions, the divergence is about padding as much as about the text.",
        fixes=(fix(one, call, call.padding, reducing),),
    )


def facts(call: DivergenceSeen, padding: PaddingSeen) -> Iterator[Fact]:
    known = code(padding.known_by or padding.beyond)
    yield Fact("padding", f"{padding.padded:,} positions where {known} is {padding.padding_is}")
    yield Fact("real", f"{real_places(call):,} positions")
    for term in call.beside:
        if term.ignored:
            yield Fact(f"beside, `{term.name}`", f"leaves out {term.ignored:,} of {term.labels:,}")


def fix(
    one: Divergence, call: DivergenceSeen, padding: PaddingSeen, reducing: ast.Call | None
) -> Fix:
    held = padding.known_by or padding.beyond
    real = f"{held}{'[:, 1:]' if padding.shifted else ''} != {padding.padding_is}"
    text = f"Leave padded positions out: only where `{real}`."
    here = bool(padding.known_by)
    edit = mended(one, call, real, reducing) if here else mended_by_the_caller(one, call, real)
    if edit is not None:
        return Fix(text, edit, PaddingLeftOut(one.line, call.step, real_places(call)))
    if here:
        return Fix(text, why_not_tried="where its mean is taken was not found for certain")
    return Fix(
        f"Give {code(held)} to where the divergence is computed, and leave these out.",
        why_not_tried=f"{code(held)} is not known there",
    )
