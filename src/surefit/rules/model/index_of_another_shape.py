"""An index does not fit the tensor that it picks from: its axes, or its numbers.

## What happens
`gather`, `take_along_dim` and `scatter` take an index with as many axes as the tensor has, not
longer on any axis but the one that is picked along. One class per row, (rows,), is an index for a
tensor (rows, classes) only with a last axis of size 1. Every number of the index must be a position
of the axis: -100, which a loss ignores, is none.

## Why it matters
An index that is too short raises nothing: what lies beyond its end is left out.

## What to do
`log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)`; for whole vectors `index[:, None,
None].expand(-1, 1, width)`; labels cut as the predictions are: `labels[:, 1:]` for `logits[:,
:-1]`; positions to ignore: `labels.clamp(min=0)`, and what was picked there set to 0.

## How it is recognised
The failing expression in your own code is such a call or an index in brackets, and the shapes of
the tensor and of its index, or the least and the greatest index, do not go together.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.indices import IndexArguments, IndexRange, IndexShape
from surefit.laws.operations.index_fits import (
    IndexFit,
    Picking,
    along_another_axis,
    assigned_name,
    fits,
    picking,
)
from surefit.laws.values.written_numbers import written_in
from surefit.lineage.properties import contains, holds_at_least, of_several
from surefit.remedies.append import Append
from surefit.remedies.enlarge import Enlarge
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.shift import Shift
from surefit.remedies.together import Together

SYMPTOM = Symptom(
    r"Index tensor must have the same number of dimensions|Size does not match at dimension"
    r"|to be (no larger|smaller) than self|torch.take_along_dim\(\)|is out of bounds for"
    r" dimension \d+ with size",
    "the shapes of the tensor and of its index, and the axis that is picked along",
)
RULE = Rule("SF345", "index-of-another-shape", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(IndexShape)
def an_index_has_other_axes(broken: IndexShape, case: Case) -> Finding:
    here = picking(broken, case)
    of, index = broken.of, broken.index
    pairs = enumerate(zip(index.shape, of.shape, strict=False))
    at = next((at for at, (size, other) in pairs if size > other and at != broken.axis), 0)
    axes = f"{counted(len(index.shape), 'axis')} and {of.name} {len(of.shape)}"
    remedies = [remedy(here, fit) for fit in fits(here)] if here is not None else []
    return case.finding(
        broken.use.place,
        f"{index.name} has {axes}: `{broken.name}` takes an index with as many axes."
        if len(index.shape) != len(of.shape)
        else f"{index.name} has {index.shape[at]} positions on axis {at}, and {of.name} has"
        f" {of.shape[at]}.",
        facts=facts(broken),
        why=f"`{broken.name}` counts along one axis only; on all others a number of the index picks"
        " at the position at which it stands itself.",
        remedies=remedies or [Fix(f"Give the index the axes of {of.name}.", choice=True)],
    )


@RULE.on(IndexRange)
def an_index_lies_outside(broken: IndexRange, case: Case) -> Finding:
    lineage = case.lineage(broken.index)
    birth = lineage.birth(of=contains(broken.least)) if broken.least < 0 else None
    birth = birth if birth is not None and birth.value.scalar == broken.least else None
    return case.finding(
        broken.use.place,
        f"{broken.index.name} runs from {broken.least} to {broken.greatest}, and axis"
        f" {broken.axis} of {broken.of.name} has the positions 0 to {broken.size - 1}.",
        facts=(*facts(broken), *fact_at(f"{broken.least} is written at", birth)),
        why=f"{broken.least} marks positions that do not count; an index takes every number as a"
        " position, before any mask."
        if broken.least < 0
        else f"The axis has {broken.size} positions, counted from 0.",
        remedies=inside(broken, case),
    )


def facts(broken: IndexArguments) -> Iterator[Fact]:
    yield Fact(broken.of.name, shape_of(broken.of.shape))
    value = broken.index.value
    bounds = f", from {value.least:g} to {value.greatest:g}" if value.greatest is not None else ""
    yield Fact(broken.index.name, f"{shape_of(broken.index.shape)}{bounds}")
    yield Fact("picked along", f"axis {broken.axis}, of size {broken.size}")


def remedy(here: Picking, fit: IndexFit) -> Remedy:
    broken = here.broken
    parts: list[Remedy] = []
    if fit.index:
        parts.append(ReplaceWith(at=broken.index.use, text=fit.index, words=""))
    if fit.axis is not None:
        parts.append(ReplaceWith(at=broken.axis_use, text=str(fit.axis), words=""))
    if fit.suffix:
        parts.append(Append(at=broken.use, suffix=fit.suffix, words="", alike=False))
    words = f"{fit.words}: {code(fit.index)}." if fit.index else f"{fit.words}."
    return Together(parts=tuple(parts), words=words, must=holds(here, fit), choice=fit.choice)


def holds(here: Picking, fit: IndexFit) -> ValuesAt | None:
    """The named result is as it must be; where it has no name, the index is."""
    statement = here.source.statement_of(here.call)
    name, place = assigned_name(statement), here.broken.use.place
    if name and fit.result is not None and getattr(statement, "value", None) is here.call:
        return ValuesAt(place, (Wanted(name, fit.result),), after=True)
    if fit.index and fit.shape is not None:
        return ValuesAt(place, (Wanted(fit.index, fit.shape),))
    return None


def inside(broken: IndexRange, case: Case) -> Iterator[Remedy | Fix]:
    here = picking(broken, case)
    if here is not None:
        yield from (remedy(here, fit) for fit in along_another_axis(here))
    if broken.least < 0:
        yield marked(broken, here)
        return
    birth = case.lineage(broken.index).birth(of=of_several(holds_at_least(broken.size)))
    if broken.greatest == broken.size and broken.least >= 1 and birth is not None:
        yield Shift(at=birth, by=" - 1", value=birth.value, choice=True)
    size, needed = written_in(case.lineage(broken.of), broken.size), broken.greatest + 1
    if size is not None:
        words = f"{needed:,} positions at {size.place}, one for each number of the index."
        yield Enlarge(at=size, by=needed - broken.size, words=words)
    else:
        text = f"Make {broken.of.name} {needed:,} long on axis {broken.axis}, or count from 0."
        yield Fix(text, choice=True)


def marked(broken: IndexRange, here: Picking | None) -> Remedy | Fix:
    """Positions that do not count: any valid index there, and 0 for what it picks, so that no
    gradient comes from it."""
    same = len(broken.of.shape) == len(broken.index.shape)
    if here is None or broken.writes or not (same or len(broken.of.shape) == 1):
        return Fix(f"Leave out the positions whose index is {broken.least}.", choice=True)
    text = here.written(here.index_node)
    clamped, masked = f"{text}.clamp(min=0)", f".masked_fill({text} < 0, 0)"
    return Together(
        parts=(
            ReplaceWith(at=broken.index.use, text=clamped, words=""),
            Append(at=broken.use, suffix=masked, words="", alike=False),
        ),
        words="Clamp the index and set what it picks to 0 where it is negative, so that these"
        f" positions take no part: {code(clamped)}. In a mean, divide by the number of the others.",
        choice=True,
    )
