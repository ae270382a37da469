"""A reshape to a fixed width made several rows of each row of the batch.

## What happens
`x.view(-1, 64)` makes as many rows of 64 numbers as it takes. Pictures that are larger, pooled less
or in colour become several rows each: 32 pictures with 2 × 2 positions become 128 rows, and there
are 32 labels.

## Why it matters
The reshape never fails; the error comes from the loss, which is right. Labels repeated to fit, or
an average over the loss, train on rows that are mixtures of positions and channels.

## What to do
Pool to a fixed size, whatever the size of the pictures: `nn.AdaptiveAvgPool2d(1)`. Write
`x.flatten(1)` for `x.view(-1, n)`: it never touches the batch axis, and a wrong width is then
reported where it arises.

## How it is recognised
Two sides of a loss or of an expression have rows, and one has a multiple of those of the other. A
second run shows where it got them: a reshape that was given as many rows as the other side has.
"""

import ast
from collections.abc import Iterator
from math import isqrt, prod

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, shape_of, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.laws.layers.folds import Fold, fold_of
from surefit.lineage.properties import size
from surefit.remedies.append import Append
from surefit.remedies.unfold import BeforeEveryReshape, keep_every_number, pool_before, pool_to_one
from surefit.source.reading import called

SYMPTOMS = (
    Symptom(
        r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)",
        "whether a reshape to a fixed width made several rows of each row of the batch",
    ),
    Symptom(
        r"[Tt]arget size \(torch\.Size.* (must be the same as|is different to) .*input size",
        "whether the predictions have several rows for each label, and which reshape made them",
    ),
)
RULE = Rule("SF232", "rows-folded-into-the-batch", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(UnequalSides)
def reshape_made_more_rows(broken: UnequalSides, case: Case) -> Finding | None:
    if broken.more < 2 or broken.expected < 2 or prod(broken.other.shape) == broken.size:
        return None
    fold = fold_of(case.lineage(broken.side), broken.size, broken.expected)
    if fold is None:
        return None
    remedies = list(ways(broken, fold, case))
    pooled = remedies[0] if remedies and fold.pooling is not None else None
    at = getattr(pooled, "at", None) or fold.use
    becomes = f"{shape_of(fold.before)} becomes {shape_of(fold.after)}"
    return case.finding(
        at.place,
        f"{code(fold.use.text)} makes {broken.more} rows of each row of the batch: {broken.size} ="
        f" {times((broken.expected, *fold.extra(broken.more)))}, and {broken.other.name} has"
        f" {broken.expected}.",
        facts=(
            Fact(broken.side.name, shape_of(broken.side.shape)),
            Fact(broken.other.name, shape_of(broken.other.shape)),
            Fact("folded at", f"{fold.use.place}  {becomes}"),
            *fact_at("which comes from", fold.source),
        ),
        why=why(fold),
        remedies=remedies,
    )


def why(fold: Fold) -> str:
    if fold.is_sequence:
        return f"The {fold.before[1]} steps of a row became rows of their own."
    each = times(fold.before[1:])
    return (
        f"One row of the batch holds {each} = {prod(fold.before[1:])} numbers, and rows of"
        f" {fold.width} are made of them; `-1` takes up the rest, on the batch axis."
    )


def ways(broken: UnequalSides, fold: Fold, case: Case) -> Iterator[Remedy | Fix]:
    must = broken.holds(case)
    if fold.is_sequence:
        yield from of_steps(fold, case, must)
        return
    pooled = pool_to_one(fold, case, must)
    if pooled is not None:
        yield pooled
    yield from of_channels(fold, case, must)
    side = map_side(fold)
    if side is not None and pooled is None:
        yield pool_before(fold, case, side, must)
    yield keep_every_number(fold, must)


def of_steps(fold: Fold, case: Case, must: Condition) -> Iterator[Remedy | Fix]:
    """One of its steps for each row; the last, or the mean of all."""
    steps = fold.before[1]
    for suffix, words in (("[:, -1]", "the last of its"), (".mean(1)", "the mean of its")):
        yield Append(
            at=fold.receiver(case),
            suffix=suffix,
            words=f"If a row has one label: take {words} {steps} steps before the reshape,"
            f" {code(suffix)}.",
            must=must,
            choice=True,
            alike=False,
        )
    yield Fix(f"If each of the {steps} steps has a label: give {steps} for a row.", choice=True)


def of_channels(fold: Fold, case: Case, must: Condition) -> Iterator[Remedy]:
    """Where one channel would have the width and there are several: pictures in colour. Their mean
    where the channels become an axis of their own, then at the reshape."""
    channels, rest = fold.before[1], fold.before[2:]
    if prod(rest) != fold.width or channels < 2 or fold.from_layers:
        return
    words = f"If one channel is meant: take the mean of the {channels}"
    birth = fold.lineage_before.birth(of=size(1, channels))
    node = case.node(birth)
    if birth is not None and isinstance(node, ast.Call) and called(node) not in ("zeros", "randn"):
        axis = 1 + len(birth.value.shape or ()) - len(fold.before)
        suffix = f".mean({axis}, keepdim=True)"
        yield Append(
            at=birth, suffix=suffix, words=f"{words}, {birth.place}.", must=must, choice=True
        )
    yield BeforeEveryReshape(
        at=fold.use, suffix=".mean(1)", words=f"{words} before the reshape.", must=must, choice=True
    )


def map_side(fold: Fold) -> int | None:
    """Positions along each side of a map that would have had the width."""
    channels, axes = fold.before[1], len(fold.before) - 2
    if axes not in (1, 2) or fold.width % channels or not fold.from_layers:
        return None
    positions = fold.width // channels
    side = positions if axes == 1 else isqrt(positions)
    return side if side**axes == positions else None
