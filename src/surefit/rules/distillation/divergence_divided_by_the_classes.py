"""A divergence is averaged over the classes, too, so that it hardly counts beside other terms.

## What happens
A divergence is a sum over the classes. `reduction="mean"`, the default of `kl_div` and
`KLDivLoss`, divides by the number of all elements: by the rows and, once more, by the classes. With
a vocabulary of 50,257 the term is 50,257 times smaller than the divergence.

## Why it matters
Nothing is raised; torch warns once, and the loss falls, because the other terms do. A weight of 0.5
for the teacher is one of 0.00001: the student is trained as if there were none.

## What to do
`reduction="batchmean"` for logits of two axes. With three, `batchmean` divides by the rows alone:
sum over the classes and take the mean of the rest, `kl_div(..., reduction="none").sum(-1).mean()`.

## How it is recognised
`kl_div` was called with `reduction="mean"`, and what it gave is added to another loss. The
gradients that arrive at both are their weights: where that of the divergence is at most one, or
such a weight times the square of the temperature, nothing makes up for the division. A large
weight, and a divergence that is the whole loss, are left alone.
"""

from collections.abc import Iterator
from math import isfinite, nan

from surefit.doctor.conditions.divergences import DivergenceWeighs
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import DivergenceSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, shape_of, spoken, times
from surefit.laws.losses.divergences import (
    Divergence,
    divergences_in,
    divergences_seen,
    is_plain_weight,
    of_loss,
    term_in_words,
)
from surefit.source.edits import appended, argument_added, both

RULE = Rule("SF954", "divergence-divided-by-the-classes", Severity.ERROR, __doc__)

FEWEST_CLASSES = 3
SUMMED = ".sum(-1).mean()"


@RULE.on(Steps)
def the_mean_is_over_the_classes_too(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for one in divergences_seen(steps, seen):
        weighed = [call for call in one.seen if call.joined and call.beside]
        if weighed and all(is_divided(call) for call in weighed):
            yield finding(one, weighed[0])


def is_divided(call: DivergenceSeen) -> bool:
    """By the classes, and nothing on the way to the loss makes up for it."""
    if call.reduction != "mean" or not 2 <= len(call.shape) <= 3 or call.weight is None:
        return False
    known = call.given.kind == "logarithms" and bool(call.target.kind) and bool(call.place_weight)
    if not isfinite(call.value or nan) or not isfinite(call.per_place or nan):
        return False
    return known and call.shape[-1] >= FEWEST_CLASSES and is_plain_weight(call.weight, call)


def finding(one: Divergence, call: DivergenceSeen) -> Finding:
    classes = call.shape[-1]
    return RULE.finding(
        one.place_of(one.settings) if len(call.shape) == 2 else one.place,
        f"{one.name} divides by the {counted(classes, 'class')}, too: its part of the loss is"
        f" {classes:,} times smaller than its weight says.",
        facts=tuple(facts(call)),
        why='A divergence is a sum over the classes; `reduction="mean"`, which is the default,'
        " divides this sum by their number.",
        fixes=(fix(one, call),),
    )


def facts(call: DivergenceSeen) -> Iterator[Fact]:
    value = call.value or 0.0
    meant = value * call.shape[-1]
    yield Fact("what it compares", f"{shape_of(call.shape)}, {times(call.shape)} elements")
    yield Fact("the term", f"{value:.3g}; the divergence of a position is {meant:.3g}")
    yield Fact("beside", spoken(term_in_words(term) for term in call.beside))
    now, then = (of_loss(call, (call.weight or 0.0) * part) for part in (value, meant))
    yield Fact("its share of the loss", f"{now:.2%}; undivided {then:.2%}")


def fix(one: Divergence, call: DivergenceSeen) -> Fix:
    """For two axes another reduction; for three the mean over the positions, which has no name."""
    source, two = one.source, len(call.shape) == 2
    text = "Sum over the classes, and take the mean over the positions alone."
    if two:
        text = 'Say `reduction="batchmean"`: the mean over the rows alone.'
    same = [other for other in divergences_in(source) if other.settings is one.settings]
    if (not two and len(same) != 1) or call.place_weight is None:
        return Fix(text, why_not_tried="several lines use this loss, each in its own way")
    edit = argument_added(source, one.settings, "reduction", '"batchmean"' if two else '"none"')
    edit = edit if two else both(edit, appended(source, one.call, SUMMED))
    must = DivergenceWeighs(one.line, call.step, call.place_weight * call.shape[-1])
    return Fix(text, edit, must)
